// Taking a worker out of rotation, putting it back, removing it.
import { CaretRightOutlined, DeleteOutlined, PauseCircleOutlined } from '@ant-design/icons';
import { api } from '../../api/client';
import type { Worker } from '../../api/types';
import { ActButton } from '../../components/ActButton';
import { ReasonField } from '../../components/ReasonField';
import { RowButton } from '../../components/RowButton';
import { useAct } from '../../hooks/useAct';
import { useI18n } from '../../i18n';

interface Props {
    worker: Worker;
    changed: () => void;
    inHeader?: boolean; // Of the worker's page, where buttons are as large as the others.
}

export function WorkerButtons({ worker, changed, inHeader = false }: Props) {
    const { t } = useI18n();
    const { act, confirm } = useAct();
    const drain = () => {
        let reason = '';
        confirm(
            {
                title: t('worker.drainTitle', { name: worker.name }),
                what: <ReasonField what={t('worker.drainWhat')} onChange={(typed) => (reason = typed)} />,
                ok: t('worker.drain'),
            },
            async () => {
                if (
                    await act(t('worker.drained', { name: worker.name }), () =>
                        api.drainWorker(worker.id, reason),
                    )
                )
                    changed();
            },
        );
    };
    const resume = async () => {
        if (await act(t('worker.resumed', { name: worker.name }), () => api.resumeWorker(worker.id)))
            changed();
    };
    const remove = () =>
        confirm(
            {
                title: t('worker.removeTitle', { name: worker.name }),
                what: t('worker.removeWhat'),
                ok: t('action.remove'),
            },
            async () => {
                if (await act(t('worker.removed', { name: worker.name }), () => api.removeWorker(worker.id)))
                    changed();
            },
        );
    const size = inHeader ? 'middle' : 'small';
    return (
        <span className="nowrap">
            {worker.status === 'draining' || worker.status === 'maintenance' ? (
                <RowButton
                    label={t('action.resume')}
                    name={worker.name}
                    size={size}
                    icon={<CaretRightOutlined />}
                    onClick={() => void resume()}
                />
            ) : (
                <RowButton
                    label={t('worker.drain')}
                    name={worker.name}
                    size={size}
                    icon={<PauseCircleOutlined />}
                    disabled={worker.status === 'offline'}
                    onClick={drain}
                />
            )}{' '}
            <ActButton
                size={size}
                type={inHeader ? undefined : 'text'}
                // A phone has no room for it in a row; the page of the worker has it too.
                className={inHeader ? undefined : 'row-remove'}
                danger
                icon={<DeleteOutlined />}
                aria-label={`${t('action.remove')}: ${worker.name}`}
                onClick={remove}
            />
        </span>
    );
}
