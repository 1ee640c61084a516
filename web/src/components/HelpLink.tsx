// A way to the page of the documentation that answers what somebody wonders here. In a tab of its own, which leaves
// half a form as it is, and with what this tab knows: a token that is kept for one tab only would be asked for again.
import type { ReactNode } from 'react';
import { Link } from 'react-router-dom';
import { useI18n } from '../i18n';

export function HelpLink({ page, children }: { page: string; children?: ReactNode }) {
    const { t } = useI18n();
    return (
        <Link className="in-text" to={`/help/${page}`} target="_blank" rel="opener">
            {children ?? t('nav.help')}
        </Link>
    );
}
