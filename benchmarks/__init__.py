"""What Lightwell claims, measured: each module prints a table; `python -m benchmarks NAME`, or all of them."""
