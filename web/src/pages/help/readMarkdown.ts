// A page of the documentation, read: its parts, and the names of its headings.
import { lexer, type Token, type Tokens } from 'marked';

export interface Heading {
    id: string;
    text: string;
    depth: number;
}

export interface Read {
    tokens: Token[]; // Without the page's title.
    headings: Map<Token, Heading>;
}

// What is left of a text without its marks.
export const plainText = (tokens: Token[] = []): string =>
    tokens
        .map((token) =>
            'tokens' in token && token.tokens
                ? plainText(token.tokens)
                : 'text' in token
                  ? String(token.text)
                  : '',
        )
        .join('');

// The name that GitHub gives to a heading, so that links work in both places.
const anchorOf = (text: string): string =>
    text
        .toLowerCase()
        .replace(/[^\p{L}\p{N}_\- ]/gu, '')
        .trim()
        .replace(/ /g, '-');

export function readMarkdown(text: string): Read {
    const tokens = lexer(text).filter((token) => token.type !== 'heading' || token.depth > 1);
    const headings = new Map<Token, Heading>();
    const taken = new Map<string, number>();
    for (const token of tokens) {
        if (token.type !== 'heading') continue;
        const heading = token as Tokens.Heading;
        const said = plainText(heading.tokens);
        const anchor = anchorOf(said);
        const before = taken.get(anchor) ?? 0;
        taken.set(anchor, before + 1);
        const id = before ? `${anchor}-${before}` : anchor;
        headings.set(token, { id, text: said, depth: heading.depth });
    }
    return { tokens, headings };
}

const placeOf = (wanted: string, { headings }: Read): number =>
    [...headings.values()].findIndex(({ id }) => id === wanted || encodeURIComponent(id) === wanted);

// The heading that an address names, as it stands there. A page without a translation names those of the English text:
// the translated page has the same headings in the same order, under other names.
export function headingFor(wanted: string, read: Read, other: string | undefined): Heading | undefined {
    let at = placeOf(wanted, read);
    if (at < 0 && other !== undefined) at = placeOf(wanted, readMarkdown(other));
    return [...read.headings.values()][at];
}
