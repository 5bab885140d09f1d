"""What the nodes share: loop, lifecycle, QoS, diagnostics, messages."""
