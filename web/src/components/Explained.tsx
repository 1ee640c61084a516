// Why something does not run, or gets nothing: what the scheduler says of it, in the reader's language.
import { Alert } from 'antd';
import type { Explanation } from '../api/types';
import type { Data } from '../hooks/useData';
import { useI18n } from '../i18n';
import { explanationText } from '../i18n/said';

interface Props {
    of: Data<Explanation>;
    quiet?: ReadonlySet<string>; // All is well, and the page shows it.
}

export function Explained({ of, quiet }: Props) {
    const { t, locale } = useI18n();
    if (!of.data || quiet?.has(of.data.code)) return null;
    return (
        <Alert
            className="why"
            data-testid="why"
            type="warning"
            showIcon
            message={explanationText(of.data, t, locale)}
        />
    );
}
