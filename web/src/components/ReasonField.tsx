// Why somebody takes something out of service: asked beside the question whether to, and may stay empty.
import { Input } from 'antd';
import type { ReactNode } from 'react';
import { useI18n } from '../i18n';

interface Props {
    what: ReactNode;
    onChange: (reason: string) => void;
}

export function ReasonField({ what, onChange }: Props) {
    const { t } = useI18n();
    return (
        <>
            <p>{what}</p>
            <Input
                aria-label={t('worker.reason')}
                placeholder={t('worker.reason')}
                maxLength={200}
                onChange={(event) => onChange(event.target.value.trim())}
            />
        </>
    );
}
