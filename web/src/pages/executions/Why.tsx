// Why an execution has not started, or is not finished.
import { QuestionCircleOutlined } from '@ant-design/icons';
import { Alert } from 'antd';
import { api } from '../../api/client';
import type { Execution } from '../../api/types';
import { useData } from '../../hooks/useData';
import { useI18n } from '../../i18n';
import { explanationText } from '../../i18n/said';

export function Why({ execution }: { execution: Execution }) {
    const { t, locale } = useI18n();
    const why = useData((signal) => api.explain(execution.id, signal), [execution.id, execution.status], {
        everyMs: 3_000,
    });
    if (!why.data) return null;
    // Of one that does what it should there is nothing to explain, only to say.
    if (why.data.code === 'running') {
        return <p className="muted why-runs">{explanationText(why.data, t, locale)}</p>;
    }
    return (
        <Alert
            className="why"
            type="info"
            showIcon
            icon={<QuestionCircleOutlined />}
            message={t('execution.why')}
            description={explanationText(why.data, t, locale)}
        />
    );
}
