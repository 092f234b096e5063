"""The searches that OCLGen is compared with; a file each, with their settings."""
