// What a change was: the fields that differ, as they were and as they are.
import { useI18n } from '../../i18n';

type Document = Record<string, unknown> | null;

const linesOf = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value));

export function Changed({ before, after }: { before: Document; after: Document }) {
    const { t } = useI18n();
    const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
    const differ = names.filter((name) => linesOf(before?.[name]) !== linesOf(after?.[name]));
    if (differ.length === 0) return <span className="muted">{t('audit.nothingDiffers')}</span>;
    return (
        <table className="changed" data-testid="changed">
            <thead>
                <tr>
                    <th>{t('audit.field')}</th>
                    <th>{t('audit.before')}</th>
                    <th>{t('audit.after')}</th>
                </tr>
            </thead>
            <tbody>
                {differ.map((name) => (
                    <tr key={name}>
                        <th scope="row">{name}</th>
                        <td className="changed-was">{linesOf(before?.[name])}</td>
                        <td className="changed-is">{linesOf(after?.[name])}</td>
                    </tr>
                ))}
            </tbody>
        </table>
    );
}
