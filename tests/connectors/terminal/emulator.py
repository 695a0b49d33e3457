"""As much of a terminal as the captions need; anything else that it is sent fails the test."""

import io

import regex
import wcwidth


class SmallTerminal:
    """Rows without end, of cells; a wide character takes two, the second of them empty."""

    def __init__(self) -> None:
        #: A character and whether it is dim, for each cell.
        self.cells: list[list[tuple[str, bool]]] = [[]]
        self.row = self.column = 0
        self._is_dim = False

    @property
    def rows(self) -> list[str]:
        """The text of each row down to the cursor, and of those below that hold any."""
        rows = ["".join(char for char, _ in row).rstrip() for row in self.cells]
        while len(rows) > self.row + 1 and not rows[-1]:
            rows.pop()
        return rows

    @property
    def dim(self) -> list[str]:
        """Of each row what is dim."""
        dim = ["".join(char for char, is_dim in row if is_dim).strip() for row in self.cells]
        return dim[: len(self.rows)]

    def send(self, data: str) -> None:
        for code in regex.findall(r"\x1b\[\d*[A-Za-z]|.", data, regex.DOTALL):
            if code.startswith("\x1b["):
                self._control(code[-1], int(code[2:-1] or 1))
            elif code == "\r":
                self.column = 0
            elif code == "\n":
                self.row += 1
                self.cells += [[] for _ in range(self.row + 1 - len(self.cells))]
            else:
                self._write(code)

    def _control(self, command: str, count: int) -> None:
        match command, count:
            case "A", _:
                self.row -= count
                assert self.row >= 0
            case "C", _:
                self.column += count
            case "K", 1:
                del self.cells[self.row][self.column :]
            case "m", 2:
                self._is_dim = True
            case "m", 22:
                self._is_dim = False
            case _:
                raise AssertionError(f"nobody asked for {count}{command}")

    def _write(self, char: str) -> None:
        assert char.isprintable()
        row = self.cells[self.row]
        row += [(" ", False)] * (self.column + 2 - len(row))
        # Half a wide character is none.
        if row[self.column][0] == "":
            row[self.column - 1] = (" ", False)
        columns = wcwidth.wcwidth(char)
        assert columns > 0
        end = self.column + columns
        if end < len(row) and row[end][0] == "":
            row[end] = (" ", False)
        row[self.column] = (char, self._is_dim)
        if columns == 2:
            row[self.column + 1] = ("", self._is_dim)
        self.column = end


class Tty(io.StringIO):
    """An output that says it is a terminal and remembers what came at once."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[str] = []

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.sent.append(text)
        return super().write(text)
