// The part of the task's form that says when it runs.
import { Button, DatePicker, Form, Input, Select } from 'antd';
import { useMemo } from 'react';
import type { FormInstance } from 'antd';
import { HelpLink } from '../../components/HelpLink';
import { useI18n } from '../../i18n';
import { BoundFields } from './BoundFields';
import { presets, kinds, recurringKinds } from './schedule';
import { SchedulePreview } from './SchedulePreview';
import { scheduleOf, type TaskAnswers } from './taskFields';

// All that the browser knows, and the one that is chosen: the server may know more.
const zones = (chosen: string | undefined) => [
    ...new Set(['UTC', ...(chosen ? [chosen] : []), ...Intl.supportedValuesOf('timeZone')]),
];

function CronFields({ form }: { form: FormInstance<TaskAnswers> }) {
    const { t } = useI18n();
    const chosen = Form.useWatch('timezone', form);
    const options = useMemo(() => zones(chosen).map((value) => ({ value })), [chosen]);
    return (
        <>
            <div className="form-pair">
                <Form.Item
                    name="cron_expression"
                    label={t('schedule.cron')}
                    rules={[{ required: true, message: t('form.required') }]}
                    extra={
                        <>
                            <span className="cron-fields">{t('schedule.cronHelp')}</span>{' '}
                            <HelpLink page="cron" />
                        </>
                    }
                >
                    <Input
                        className="mono"
                        placeholder="0 2 * * MON-FRI"
                        spellCheck={false}
                        autoComplete="off"
                    />
                </Form.Item>
                <Form.Item name="timezone" label={t('schedule.timezone')}>
                    <Select
                        showSearch
                        options={options}
                        filterOption={(typed, option) =>
                            (option?.value ?? '')
                                .toLowerCase()
                                .replace(/_/g, ' ')
                                .includes(typed.toLowerCase())
                        }
                    />
                </Form.Item>
            </div>
            <div className="presets">
                {presets.map(({ text, cron }) => (
                    <Button
                        key={cron}
                        size="small"
                        onClick={() => {
                            form.setFieldValue('cron_expression', cron);
                            form.setFields([{ name: 'cron_expression', errors: [] }]);
                        }}
                    >
                        {t(`preset.${text}`)}
                    </Button>
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
        recurringKinds.includes(kind) &&
        !!(schedule.cron_expression || schedule.interval || schedule.interval_after_end);
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
            {recurringKinds.includes(kind) && <BoundFields form={form} cron={kind === 'cron'} />}
            {complete && <SchedulePreview schedule={schedule} />}
        </>
    );
}
