// From when until when a task fires, and on which days it does not.
import { Collapse, DatePicker, Form, type FormInstance, Input, InputNumber, Select } from 'antd';
import { useI18n } from '../../i18n';
import { ExcludedDates } from './ExcludedDates';
import type { TaskAnswers } from './taskFields';

const dsts = ['once', 'skip', 'twice'] as const;
const bounds = ['start_at', 'end_at', 'fires_max', 'jitter', 'dst'] as const;

interface Props {
    form: FormInstance<TaskAnswers>;
    cron: boolean;
}

export function BoundFields({ form, cron }: Props) {
    const { t } = useI18n();
    const given = Form.useWatch(
        (values: TaskAnswers) =>
            bounds.filter((name) => values[name]).length + (values.excluded_dates?.length ? 1 : 0),
        form,
    );
    return (
        <Collapse
            ghost
            className="form-bounds"
            items={[
                {
                    key: 'bounds',
                    label: given ? `${t('schedule.bounds')} (${given})` : t('schedule.bounds'),
                    forceRender: true,
                    children: (
                        <div className="form-pair">
                            <Form.Item name="start_at" label={t('schedule.startAt')}>
                                <DatePicker showTime style={{ width: '100%' }} />
                            </Form.Item>
                            <Form.Item name="end_at" label={t('schedule.endAt')}>
                                <DatePicker showTime style={{ width: '100%' }} />
                            </Form.Item>
                            <Form.Item name="fires_max" label={t('schedule.firesMax')}>
                                <InputNumber
                                    min={1}
                                    precision={0}
                                    placeholder={t('quota.none')}
                                    style={{ width: '100%' }}
                                />
                            </Form.Item>
                            <Form.Item
                                name="jitter"
                                label={t('schedule.jitter')}
                                extra={t('schedule.jitterHelp')}
                            >
                                <Input placeholder="30s" />
                            </Form.Item>
                            {cron && (
                                <Form.Item name="dst" label={t('schedule.dst')}>
                                    <Select
                                        allowClear
                                        placeholder={t('schedule.dst.once')}
                                        options={dsts.map((value) => ({
                                            value,
                                            label: t(`schedule.dst.${value}`),
                                        }))}
                                    />
                                </Form.Item>
                            )}
                            <Form.Item
                                name="excluded_dates"
                                label={t('schedule.excluded')}
                                extra={t('schedule.excludedHelp')}
                                className={cron ? undefined : 'form-wide'}
                            >
                                <ExcludedDates />
                            </Form.Item>
                        </div>
                    ),
                },
            ]}
        />
    );
}
