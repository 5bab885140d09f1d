"""The benchmarks: each module has run(), which measures, and table(), the lines to print."""
