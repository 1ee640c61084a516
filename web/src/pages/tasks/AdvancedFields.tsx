// The part of the task's form that most tasks leave as it is.
import { Form, type FormInstance, Input, InputNumber, Select } from 'antd';
import { api } from '../../api/client';
import { useData } from '../../hooks/useData';
import { useI18n } from '../../i18n';
import { recurringKinds } from './schedule';
import { labelsRule, type TaskAnswers } from './taskFields';

const modes = ['sequential', 'parallel', 'skip', 'replace'] as const;
const misfires = ['fire_once', 'fire_all', 'skip'] as const;

export function AdvancedFields({ form }: { form: FormInstance<TaskAnswers> }) {
    const { t } = useI18n();
    const kind = Form.useWatch('kind', form) ?? 'cron';
    const recurring = recurringKinds.includes(kind);
    const strategy = useData((signal) => api.strategy(signal), []);
    const whole = { style: { width: '100%' } };
    return (
        <>
            <div className="form-pair">
                <Form.Item name="max_retry" label={t('task.maxRetry')}>
                    <InputNumber min={0} precision={0} placeholder={t('form.default')} {...whole} />
                </Form.Item>
                <Form.Item name="retry_delay" label={t('task.retryDelay')} extra={t('form.duration')}>
                    <Input placeholder="10s" />
                </Form.Item>
                <Form.Item name="timeout_seconds" label={t('task.timeout')} extra={t('form.duration')}>
                    <Input placeholder={t('form.default')} />
                </Form.Item>
                <Form.Item name="expires_after" label={t('task.expires')} extra={t('form.duration')}>
                    <Input />
                </Form.Item>
            </div>
            {recurring && (
                <div className="form-pair">
                    <Form.Item name="execution_mode" label={t('task.mode')}>
                        <Select
                            allowClear
                            placeholder={t('mode.sequential')}
                            options={modes.map((value) => ({ value, label: t(`mode.${value}`) }))}
                        />
                    </Form.Item>
                    <Form.Item name="misfire_policy" label={t('task.misfire')}>
                        <Select
                            allowClear
                            placeholder={t('misfire.fire_once')}
                            options={misfires.map((value) => ({ value, label: t(`misfire.${value}`) }))}
                        />
                    </Form.Item>
                </div>
            )}
            <div className="form-pair">
                <Form.Item name="load_balance_strategy" label={t('settings.strategy')}>
                    <Select
                        allowClear
                        placeholder={strategy.data?.strategy ?? t('form.default')}
                        options={strategy.data?.available.map((value) => ({ value }))}
                    />
                </Form.Item>
                <Form.Item name="executor" label={t('task.executor')} extra={t('task.executorHelp')}>
                    <Input />
                </Form.Item>
                <Form.Item
                    name="labels"
                    label={t('task.labels')}
                    rules={[labelsRule(t)]}
                    extra={t('task.labelsHelp')}
                >
                    <Input placeholder="region=eu, disk=ssd" />
                </Form.Item>
                <Form.Item name="concurrency_max" label={t('task.concurrency')}>
                    <InputNumber min={1} precision={0} {...whole} />
                </Form.Item>
                {!recurring && (
                    <Form.Item name="unique_key" label={t('task.uniqueKey')} extra={t('task.uniqueKeyHelp')}>
                        <Input />
                    </Form.Item>
                )}
            </div>
        </>
    );
}
