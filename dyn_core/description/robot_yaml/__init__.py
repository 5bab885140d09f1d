"""Robot YAML files: read, written and updated."""
