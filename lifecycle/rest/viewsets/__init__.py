"""The viewset mixin: a lifecycle's endpoints, what a project may override, who may call, which record is meant."""
