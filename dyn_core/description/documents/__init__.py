"""YAML and XML documents whose mistakes are reported with file and line."""
