// JSON as it was written.
//
// JSON.parse makes a double of every number: 9007199254740993 becomes …992, and who runs a task "as it is" would
// run another. What belongs to whoever submitted a task is therefore not parsed here: it is cut out of the
// answer as text, shown as that text, and put as text into what is sent. All else is the server's own, and
// fits JSON.parse.

// A JSON value, letter by letter as somebody wrote it.
export type JsonText = string;

// The fields whose values are texts in this sense: of an answer, of each of its `items`, and of what is sent.
const keptFields = ['parameters', 'result'];
const kept = new Set(keptFields.map((name) => JSON.stringify(name)));
const someKept = new RegExp([...kept].join('|'));
// Within how many brackets those fields are: {"parameters":…} and {"items":[{"parameters":…}]}. Elsewhere it is
// somebody's label that has such a name.
const keptDepths = [1, 3];

const opening = (piece: string | undefined) => piece === '{' || piece === '[';
const closing = (piece: string) => piece === '}' || piece === ']';

function afterString(text: string, from: number): number {
    let at = from + 1;
    while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
    return at + 1;
}

function afterWord(text: string, from: number): number {
    let at = from;
    while (at < text.length && !'{}[]:, \t\r\n'.includes(text.charAt(at))) ++at;
    return at;
}

// Brackets, colons, commas, strings, and words such as 12 or null; without the space between them.
function* pieces(text: string): Generator<{ piece: string; from: number; to: number }> {
    let from = 0;
    while (from < text.length) {
        const first = text.charAt(from);
        if (' \t\r\n'.includes(first)) {
            from += 1;
            continue;
        }
        const to = first === '"' ? afterString(text, from) : Math.max(afterWord(text, from), from + 1);
        yield { piece: text.slice(from, to), from, to };
        from = to;
    }
}

// Each value that is kept becomes a string which holds its text.
function withTexts(answer: string): string {
    let made = '';
    let copied = 0;
    let depth = 0;
    let key = ''; // The last string, which is a key if a colon follows.
    let value: { from: number; depth: number } | undefined;
    let expected = false;
    for (const { piece, from, to } of pieces(answer)) {
        if (expected) value = { from, depth };
        expected = false;
        if (opening(piece)) depth += 1;
        if (closing(piece)) depth -= 1;
        if (value) {
            if (depth > value.depth) continue;
            const text = answer.slice(value.from, to);
            if (text !== 'null') {
                made += answer.slice(copied, value.from) + JSON.stringify(text);
                copied = to;
            }
            value = undefined;
        } else if (piece === ':') {
            expected = keptDepths.includes(depth) && kept.has(key);
        } else {
            key = piece;
        }
    }
    return made + answer.slice(copied);
}

export function readJson<T>(answer: string): T {
    return JSON.parse(someKept.test(answer) ? withTexts(answer) : answer) as T;
}

export function writeJson(fields: object): string {
    const members = Object.entries(fields)
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => {
            const isText = keptFields.includes(name) && typeof value === 'string';
            return `${JSON.stringify(name)}:${isText ? value : JSON.stringify(value)}`;
        });
    return `{${members.join()}}`;
}

// Set out as JSON.stringify(value, null, 2) does. Strings lose escapes that are not needed: 中, not \u4e2d.
export function prettyJson(text: JsonText): string {
    let made = '';
    let depth = 0;
    let before: string | undefined;
    for (const { piece } of pieces(text)) {
        if (closing(piece)) depth -= 1;
        // After a comma, after an opening bracket and before a closing one, but not within {}.
        if (before === ',' || opening(before) !== closing(piece)) made += `\n${'  '.repeat(depth)}`;
        made += piece.startsWith('"') ? JSON.stringify(JSON.parse(piece)) : piece;
        if (piece === ':') made += ' ';
        if (opening(piece)) depth += 1;
        before = piece;
    }
    return made;
}
