// Shows Markdown as elements, never as HTML: what stands between < and > in a page is text. Pictures are left out, the
// program has none of them.
import type { MarkedToken, Token, Tokens } from 'marked';
import { createElement, Fragment, type ReactNode } from 'react';
import { Link } from 'react-router-dom';
import type { Read } from './readMarkdown';
import type { Target } from './helpPages';

interface Props {
    of: Read;
    targetOf: (href: string) => Target;
}

function Leading({ target, children }: { target: Target; children: ReactNode }) {
    if (target.kind === 'source') return <>{children}</>;
    if (target.kind === 'page') {
        return (
            <Link className="in-text" to={target.to}>
                {children}
            </Link>
        );
    }
    return (
        <a className="in-text" href={target.href} target="_blank" rel="noreferrer">
            {children}
        </a>
    );
}

export function Markdown({ of, targetOf }: Props) {
    const all = (tokens: Token[] = []): ReactNode =>
        tokens.map((token, index) => <Fragment key={index}>{one(token as MarkedToken)}</Fragment>);

    const cells = (row: Tokens.TableCell[], tag: 'th' | 'td') => (
        <tr>
            {row.map(({ tokens, align }, index) => createElement(tag, { key: index, align }, all(tokens)))}
        </tr>
    );

    const one = (token: MarkedToken): ReactNode => {
        switch (token.type) {
            case 'heading':
                return createElement(
                    `h${token.depth}`,
                    { id: of.headings.get(token)?.id, tabIndex: -1 },
                    all(token.tokens),
                );
            case 'paragraph':
                // One that was nothing but a picture.
                return token.tokens.every(({ type }) => type === 'image') ? null : <p>{all(token.tokens)}</p>;
            case 'list':
                return createElement(
                    token.ordered ? 'ol' : 'ul',
                    token.ordered && token.start !== '' ? { start: token.start } : {},
                    token.items.map((item, index) => <li key={index}>{all(item.tokens)}</li>),
                );
            case 'table':
                return (
                    // It scrolls by itself, not the page; for those without a mouse too.
                    <div className="help-table" tabIndex={0}>
                        <table>
                            <thead>{cells(token.header, 'th')}</thead>
                            <tbody>
                                {token.rows.map((row, index) => (
                                    <Fragment key={index}>{cells(row, 'td')}</Fragment>
                                ))}
                            </tbody>
                        </table>
                    </div>
                );
            case 'code':
                return (
                    <pre tabIndex={0}>
                        <code>{token.text}</code>
                    </pre>
                );
            case 'blockquote':
                return <blockquote>{all(token.tokens)}</blockquote>;
            case 'link':
                return <Leading target={targetOf(token.href)}>{all(token.tokens)}</Leading>;
            case 'strong':
                return <strong>{all(token.tokens)}</strong>;
            case 'em':
                return <em>{all(token.tokens)}</em>;
            case 'del':
                return <del>{all(token.tokens)}</del>;
            case 'codespan':
                return <code>{token.text}</code>;
            case 'text':
                return 'tokens' in token && token.tokens ? all(token.tokens) : token.text;
            case 'escape':
                return token.text;
            case 'html':
                return token.text.startsWith('<!--') ? null : token.text;
            case 'br':
                return <br />;
            case 'hr':
                return <hr />;
            default:
                return null;
        }
    };
    return <>{all(of.tokens)}</>;
}
