"""Search tests do not depend on the speed of the machine, nor on chance."""

from hypothesis import HealthCheck, settings

settings.register_profile("search", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("search")
