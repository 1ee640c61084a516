// The part of the task's form that says when it runs.
import { AutoComplete, DatePicker, Form, Input, Select, Tag } from 'antd';
import { useMemo } from 'react';
import type { FormInstance } from 'antd';
import { useI18n } from '../../i18n';
import { presets, kinds, recurringKinds } from './schedule';
import { SchedulePreview } from './SchedulePreview';
import { scheduleOf, type TaskAnswers } from './taskFields';

const zones = () => ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')];

function CronFields({ form }: { form: FormInstance<TaskAnswers> }) {
    const { t } = useI18n();
    const options = useMemo(() => zones().map((value) => ({ value })), []);
    return (
        <>
            <div className="form-pair">
                <Form.Item
                    name="cron_expression"
                    label={t('schedule.cron')}
                    rules={[{ required: true, message: t('form.required') }]}
                    extra={<span className="cron-fields">{t('schedule.cronHelp')}</span>}
                >
                    <Input
                        className="mono"
                        placeholder="0 2 * * MON-FRI"
                        spellCheck={false}
                        autoComplete="off"
                    />
                </Form.Item>
                <Form.Item name="timezone" label={t('schedule.timezone')}>
                    <AutoComplete
                        options={options}
                        filterOption={(typed, option) =>
                            (option?.value ?? '').toLowerCase().includes(typed.toLowerCase())
                        }
                    />
                </Form.Item>
            </div>
            <div className="presets">
                {presets.map(({ text, cron }) => (
                    <Tag key={cron} onClick={() => form.setFieldValue('cron_expression', cron)}>
                        {t(`preset.${text}`)}
                    </Tag>
                ))}
            </div>
        </>
    );
}

export function ScheduleFields({ form, editing }: { form: FormInstance<TaskAnswers>; editing: boolean }) {
    const { t } = useI18n();
    const answers = Form.useWatch((values: TaskAnswers) => values, form) ?? {};
    const kind = answers.kind ?? 'cron';
    const required = [{ required: true, message: t('form.required') }];
    const schedule = scheduleOf(answers);
    const complete =
        Object.values(schedule).some((value) => value) &&
        recurringKinds.includes(kind) &&
        (kind !== 'cron' || !!schedule.cron_expression);
    return (
        <>
            <Form.Item name="kind" label={t('schedule.when')}>
                <Select
                    options={kinds
                        .filter((each) => !editing || recurringKinds.includes(each))
                        .map((value) => ({ value, label: t(`schedule.kind.${value}`) }))}
                />
            </Form.Item>
            {kind === 'cron' && <CronFields form={form} />}
            {kind === 'interval' && (
                <Form.Item
                    name="interval"
                    label={t('schedule.interval')}
                    rules={required}
                    extra={t('form.duration')}
                >
                    <Input placeholder="5s" />
                </Form.Item>
            )}
            {kind === 'interval_after_end' && (
                <Form.Item
                    name="interval_after_end"
                    label={t('schedule.intervalAfterEnd')}
                    rules={required}
                    extra={t('form.duration')}
                >
                    <Input placeholder="5m" />
                </Form.Item>
            )}
            {kind === 'run_at' && (
                <Form.Item name="run_at" label={t('schedule.runAt')} rules={required}>
                    <DatePicker showTime style={{ width: '100%' }} />
                </Form.Item>
            )}
            {kind === 'delay' && (
                <Form.Item
                    name="delay"
                    label={t('schedule.delay')}
                    rules={required}
                    extra={t('form.duration')}
                >
                    <Input placeholder="10m" />
                </Form.Item>
            )}
            {complete && <SchedulePreview schedule={schedule} />}
        </>
    );
}
