"""Names of tools as names of skills."""

_MAX = 128


def skill_name(tool: str) -> str:
    """Return the skill that stands for a tool: `tool.` and the name, escaped one to one.

    Capitals become b-u, hyphens -h, dots -d, other bytes -xHH: Bash is tool.b-uash. A name that is
    empty or too long raises ValueError.
    """
    out = "" if tool[:1].isascii() and tool[:1].isalpha() else "n-n"
    for byte in tool.encode("utf-8"):
        char = chr(byte)
        if "A" <= char <= "Z":
            out += char.lower() + "-u"
        elif "a" <= char <= "z" or "0" <= char <= "9" or char == "_":
            out += char
        elif char == "-":
            out += "-h"
        elif char == ".":
            out += "-d"
        else:
            out += f"-x{byte:02x}"
    if not tool or len(out) + 5 > _MAX:
        raise ValueError("the tool's name is empty or too long for a skill; map it with Gate(skills={...})")
    return "tool." + out
