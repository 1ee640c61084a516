// The YAML of a workflow, with the numbers of its lines and what is wrong in them.
import { useRef } from 'react';
import { useI18n } from '../../i18n';
import type { Mistake } from './flowText';

interface Props {
    text: string;
    mistakes: Mistake[];
    onChange: (text: string) => void;
    onLine: (line: number) => void; // Where the person writes.
}

export function YamlPane({ text, mistakes, onChange, onLine }: Props) {
    const { t } = useI18n();
    const numbers = useRef<HTMLDivElement>(null);
    const field = useRef<HTMLTextAreaElement>(null);
    const byLine = new Map<number, string>();
    for (const { line, message } of mistakes) {
        byLine.set(line, [byLine.get(line), message].filter(Boolean).join(' · '));
    }
    const moved = () => {
        const place = field.current;
        if (place) onLine(place.value.slice(0, place.selectionStart).split('\n').length);
    };
    const goTo = (line: number) => {
        const place = field.current;
        if (!place) return;
        const lines = place.value.split('\n');
        const from = lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0);
        place.focus();
        place.setSelectionRange(from, from + (lines[line - 1]?.length ?? 0));
        place.scrollTop = Math.max(0, (line - 4) * 20);
        onLine(line);
    };
    return (
        <div className="yaml">
            <div className="yaml-box">
                <div className="yaml-numbers mono" ref={numbers} aria-hidden="true">
                    {text.split('\n').map((_, index) => (
                        <div
                            key={index}
                            className={byLine.has(index + 1) ? 'yaml-wrong' : undefined}
                            title={byLine.get(index + 1)}
                        >
                            {index + 1}
                        </div>
                    ))}
                </div>
                <textarea
                    ref={field}
                    className="yaml-text mono"
                    aria-label="YAML"
                    aria-invalid={mistakes.length > 0}
                    aria-describedby="mistakes"
                    spellCheck={false}
                    autoCapitalize="off"
                    wrap="off"
                    value={text}
                    onChange={(event) => onChange(event.target.value)}
                    onKeyUp={moved}
                    onClick={moved}
                    onScroll={(event) => {
                        if (numbers.current) numbers.current.scrollTop = event.currentTarget.scrollTop;
                    }}
                />
            </div>
            <ul className="mistakes" id="mistakes" data-testid="mistakes">
                {mistakes.map(({ line, message, path }, index) => (
                    <li key={index}>
                        <button type="button" onClick={() => goTo(line)}>
                            {t('editor.line', { line })}
                        </button>{' '}
                        {path.length > 0 && <code>{path.join('.')}</code>} {message}
                    </li>
                ))}
            </ul>
        </div>
    );
}
