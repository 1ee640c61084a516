"""The mutant that ./dev mutants arms in every scheduler of a run, if it is what runs this."""
import os


def armed(variables):
    """The environment of a scheduler, with the mutant beside the fail points of a fault."""
    name = os.environ.get("TAKT_MUTANT")
    if not name:
        return variables
    points = [variables["TAKT_FAILPOINTS"]] if "TAKT_FAILPOINTS" in variables else []
    return {**variables, "TAKT_FAILPOINTS": ",".join([*points, f"mutant.{name}:error"])}
