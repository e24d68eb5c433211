"""The only place that spawns processes, takes locks, reads the clock and makes writes durable.

No policy and no retry rules live here.
"""
