// Why an execution has not started, or is not finished.
import { QuestionCircleOutlined } from '@ant-design/icons';
import { Alert } from 'antd';
import { api } from '../../api/client';
import type { Execution, Explanation } from '../../api/types';
import { type Data, useData } from '../../hooks/useData';
import { useI18n } from '../../i18n';
import { explanationText } from '../../i18n/said';

export function useWhy({ id, status }: Execution, paused: boolean): Data<Explanation> {
    return useData((signal) => api.explain(id, signal), [id, status], { everyMs: 3_000, paused });
}

export function Why({ why }: { why: Data<Explanation> }) {
    const { t, locale } = useI18n();
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

export function WhyOf({ execution }: { execution: Execution }) {
    return <Why why={useWhy(execution, false)} />;
}
