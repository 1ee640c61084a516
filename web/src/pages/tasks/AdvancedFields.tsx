// The part of the task's form that most tasks leave as it is.
import { Checkbox, Form, type FormInstance, Input, InputNumber, Select } from 'antd';
import type { ReactNode } from 'react';
import { api } from '../../api/client';
import { useData } from '../../hooks/useData';
import { useDefaults } from '../../hooks/useDefaults';
import { useI18n } from '../../i18n';
import { pairsRule } from './fieldTexts';
import { recurringKinds } from './schedule';
import type { TaskAnswers } from './taskFields';

const modes = ['sequential', 'parallel', 'skip', 'replace'] as const;
const misfires = ['fire_once', 'fire_all', 'skip'] as const;
const whole = { style: { width: '100%' } };

function Part({ title, children }: { title: string; children: ReactNode }) {
    return (
        <fieldset className="form-part">
            <legend>{title}</legend>
            <div className="form-pair">{children}</div>
        </fieldset>
    );
}

function FailureFields() {
    const { t } = useI18n();
    const defaults = useDefaults();
    const retry = defaults?.retry_policy;
    const unless = (value: string | number | undefined) =>
        value === undefined ? undefined : t('form.unless', { value });
    return (
        <Part title={t('task.part.failure')}>
            <Form.Item name="max_retry" label={t('task.maxRetry')}>
                <InputNumber
                    min={0}
                    max={10_000}
                    precision={0}
                    placeholder={unless(retry?.max_retries)}
                    {...whole}
                />
            </Form.Item>
            <Form.Item name="retry_delay" label={t('task.retryDelay')} extra={t('form.duration')}>
                <Input placeholder={unless(retry?.delay)} />
            </Form.Item>
            <Form.Item name="retry_backoff" label={t('task.backoff')} extra={t('task.backoffHelp')}>
                <InputNumber min={1} step={0.5} placeholder={unless(retry?.backoff_rate)} {...whole} />
            </Form.Item>
            <Form.Item name="retry_delay_max" label={t('task.delayMax')} extra={t('form.duration')}>
                <Input placeholder={unless(retry?.delay_max)} />
            </Form.Item>
            <Form.Item name="retry_jitter" label={t('task.spread')} extra={t('task.spreadHelp')}>
                <InputNumber min={0} max={1} step={0.1} placeholder={unless(retry?.jitter)} {...whole} />
            </Form.Item>
            <Form.Item name="timeout_seconds" label={t('task.timeout')} extra={t('form.duration')}>
                <Input placeholder={unless(defaults?.timeout)} />
            </Form.Item>
            <Form.Item name="expires_after" label={t('task.expires')} extra={t('form.duration')}>
                <Input placeholder={t('form.never')} />
            </Form.Item>
        </Part>
    );
}

function OverlapFields() {
    const { t } = useI18n();
    return (
        <Part title={t('task.part.overlap')}>
            <Form.Item name="execution_mode" label={t('task.mode')}>
                <Select
                    allowClear
                    placeholder={t('mode.sequential')}
                    options={modes.map((value) => ({ value, label: t(`mode.${value}`) }))}
                />
            </Form.Item>
            <Form.Item name="backlog_max" label={t('task.backlog')} extra={t('task.backlogHelp')}>
                <InputNumber min={0} max={100_000} precision={0} {...whole} />
            </Form.Item>
            <Form.Item name="misfire_policy" label={t('task.misfire')} extra={t('task.misfireHelp')}>
                <Select
                    allowClear
                    placeholder={t('misfire.fire_once')}
                    options={misfires.map((value) => ({ value, label: t(`misfire.${value}`) }))}
                />
            </Form.Item>
            <Form.Item name="misfires_max" label={t('task.misfiresMax')}>
                <InputNumber min={1} max={10_000} precision={0} {...whole} />
            </Form.Item>
            <Form.Item name="start_deadline" label={t('task.deadline')} extra={t('form.duration')}>
                <Input placeholder={t('form.never')} />
            </Form.Item>
            <Form.Item name="catch_up_after_pause" valuePropName="checked" label=" " colon={false}>
                <Checkbox>{t('task.catchUp')}</Checkbox>
            </Form.Item>
        </Part>
    );
}

function PlaceFields() {
    const { t } = useI18n();
    const strategy = useData((signal) => api.strategy(signal), []);
    return (
        <Part title={t('task.part.place')}>
            <Form.Item name="executor" label={t('task.executor')} extra={t('task.executorHelp')}>
                <Input />
            </Form.Item>
            <Form.Item
                name="labels"
                label={t('task.labels')}
                rules={[pairsRule(t)]}
                extra={t('task.labelsHelp')}
            >
                <Input placeholder="region=eu, disk=ssd" />
            </Form.Item>
            <Form.Item name="load_balance_strategy" label={t('settings.strategy')}>
                <Select
                    allowClear
                    placeholder={strategy.data && t('form.unless', { value: strategy.data.strategy })}
                    options={strategy.data?.available.map((value) => ({ value }))}
                />
            </Form.Item>
            <Form.Item name="locks" label={t('nav.locks')} extra={t('task.locksHelp')}>
                <Input placeholder="ledger, gpu=2" />
            </Form.Item>
            <Form.Item name="concurrency_max" label={t('task.concurrency')}>
                <InputNumber min={1} precision={0} {...whole} />
            </Form.Item>
            <Form.Item
                name="concurrency_key"
                label={t('task.concurrencyKey')}
                extra={t('task.concurrencyKeyHelp')}
            >
                <Input />
            </Form.Item>
            <Form.Item name="rate_count" label={t('task.rate')}>
                <InputNumber min={1} precision={0} {...whole} />
            </Form.Item>
            <Form.Item name="rate_per" label={t('task.ratePer')} extra={t('form.duration')}>
                <Input placeholder="1s" />
            </Form.Item>
        </Part>
    );
}

interface Props {
    form: FormInstance<TaskAnswers>;
    editing: boolean;
}

export function AdvancedFields({ form, editing }: Props) {
    const { t } = useI18n();
    const kind = Form.useWatch('kind', form) ?? 'cron';
    const recurring = recurringKinds.includes(kind);
    return (
        <>
            <FailureFields />
            {recurring && <OverlapFields />}
            <PlaceFields />
            <Part title={t('task.part.other')}>
                {!editing && (
                    <Form.Item name="id" label={t('task.id')} extra={t('task.idHelp')}>
                        <Input maxLength={64} autoComplete="off" />
                    </Form.Item>
                )}
                <Form.Item
                    name="metadata"
                    label={t('task.metadata')}
                    rules={[pairsRule(t)]}
                    extra={t('task.metadataHelp')}
                >
                    <Input placeholder="team=billing" />
                </Form.Item>
                {!recurring && (
                    <>
                        <Form.Item
                            name="unique_key"
                            label={t('task.uniqueKey')}
                            extra={t('task.uniqueKeyHelp')}
                        >
                            <Input />
                        </Form.Item>
                        <Form.Item name="unique_for" label={t('task.uniqueFor')} extra={t('form.duration')}>
                            <Input />
                        </Form.Item>
                    </>
                )}
            </Part>
        </>
    );
}
