"""Controllers of volumes: binding, provisioning and protection."""
