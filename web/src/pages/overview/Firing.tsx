// What fires now, above everything else: a person looks at the overview first.
import { AlertOutlined, RightOutlined } from '@ant-design/icons';
import type { CSSProperties } from 'react';
import { Link } from 'react-router-dom';
import type { Alert, Severity } from '../../api/observe';
import { usePalette } from '../../hooks/usePalette';
import { useI18n } from '../../i18n';
import { subjectText } from '../alerts/alertText';

const worstFirst: Severity[] = ['critical', 'warning', 'info'];

export function Firing({ firing }: { firing: Alert[] }) {
    const { t } = useI18n();
    const palette = usePalette();
    const worst = worstFirst.find((each) => firing.some(({ severity }) => severity === each));
    if (!worst) return null;
    const hit = firing.map((alert) => (alert.subject ? `${alert.rule} (${subjectText(alert)})` : alert.rule));
    return (
        <Link
            to="/alerts"
            className="firing"
            style={{ '--badge': palette.severity[worst] } as CSSProperties}
            data-testid="firing"
        >
            <AlertOutlined />
            <b>{t('alert.firingNow', { count: firing.length })}</b>
            <span className="firing-rules">{[...new Set(hit)].join(', ')}</span>
            <RightOutlined />
        </Link>
    );
}
