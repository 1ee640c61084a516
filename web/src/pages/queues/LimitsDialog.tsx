// The limits of a queue.
import { Form, Input, InputNumber, Modal } from 'antd';
import { api } from '../../api/client';
import type { Queue } from '../../api/types';
import { useAct } from '../../hooks/useAct';
import { useFirstField } from '../../hooks/useFirstField';
import { useI18n } from '../../i18n';

interface Limits {
    concurrency_max?: number | null;
    count?: number | null;
    per?: string;
}

export function LimitsDialog({
    queue,
    onClose,
    changed,
}: {
    queue: Queue;
    onClose: () => void;
    changed: () => void;
}) {
    const { t } = useI18n();
    const { act } = useAct();
    const [form] = Form.useForm<Limits>();
    const first = useFirstField();
    const save = async (limits: Limits) => {
        const rate_limit = limits.count ? { count: limits.count, per: limits.per?.trim() || '1s' } : null;
        const call = () =>
            api.limitQueue(queue.name, { concurrency_max: limits.concurrency_max ?? null, rate_limit });
        if (!(await act(t('queue.limited', { name: queue.name }), call))) return;
        changed();
        onClose();
    };
    return (
        <Modal
            open
            title={t('queue.limitsTitle', { name: queue.name })}
            okText={t('action.save')}
            onOk={form.submit}
            onCancel={onClose}
            afterOpenChange={first.afterOpenChange}
        >
            <p className="muted">{t('queue.limitsWhat')}</p>
            <Form<Limits>
                form={form}
                layout="vertical"
                onFinish={save}
                initialValues={{
                    concurrency_max: queue.concurrency_max,
                    count: queue.rate_limit?.count,
                    per: queue.rate_limit?.per === undefined ? undefined : String(queue.rate_limit.per),
                }}
            >
                <Form.Item name="concurrency_max" label={t('queue.concurrency')} extra={t('queue.noLimit')}>
                    <InputNumber ref={first.field} min={1} precision={0} style={{ width: '100%' }} />
                </Form.Item>
                <div className="form-pair">
                    <Form.Item name="count" label={t('queue.rate')} extra={t('queue.noLimit')}>
                        <InputNumber min={1} precision={0} style={{ width: '100%' }} />
                    </Form.Item>
                    <Form.Item name="per" label={t('queue.per')} extra={t('form.duration')}>
                        <Input placeholder="1s" />
                    </Form.Item>
                </div>
            </Form>
        </Modal>
    );
}
