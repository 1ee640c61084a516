// Creates an alert rule, or changes one.
import { App, Form, Input, InputNumber, Modal, Select } from 'antd';
import { useState } from 'react';
import { api, asProblem, type Problem } from '../../api/client';
import { type AlertRule, type AlertRuleFields, operators, type Severity } from '../../api/observe';
import { ProblemAlert } from '../../components/Problems';
import { useData } from '../../hooks/useData';
import { useFirstField } from '../../hooks/useFirstField';
import { useI18n } from '../../i18n';
import { isRatio, isSeconds, metricText } from './alertText';

interface Props {
    rule?: AlertRule; // Absent: a new one.
    onClose: () => void;
    changed: () => void;
}

type Answers = AlertRuleFields & { name: string };

const severities: Severity[] = ['info', 'warning', 'critical'];

const shownRule = (rule: AlertRule): AlertRule =>
    isRatio(rule.metric) ? { ...rule, threshold: Number((rule.threshold * 100).toFixed(4)) } : rule;

export function RuleForm({ rule, onClose, changed }: Props) {
    const { t } = useI18n();
    const { message } = App.useApp();
    const [form] = Form.useForm<Answers>();
    const [problem, setProblem] = useState<Problem>();
    const metrics = useData((signal) => api.alertMetrics(signal), []);
    const channels = useData((signal) => api.alertChannels(signal), []);
    const metric = Form.useWatch('metric', form);
    const first = useFirstField();
    const required = [{ required: true, message: t('form.required') }];
    const chosen = metrics.data?.items.find(({ name }) => name === metric);

    const ratio = isRatio(metric ?? '');
    const rules = useData((signal) => api.alertRules(signal), []);

    const save = async ({ name, channels: chosenChannels, ...fields }: Answers) => {
        try {
            // Shown as percent, kept as a part of one.
            if (ratio) fields.threshold = Number((fields.threshold / 100).toFixed(6));
            await api.saveAlertRule(rule?.name ?? name.trim(), {
                ...fields,
                description: fields.description ?? '',
                enabled: rule?.enabled ?? true,
                ...(chosenChannels?.length ? { channels: chosenChannels } : {}),
            });
            void message.success(t('alert.ruleSaved', { name: rule?.name ?? name }));
            changed();
            onClose();
        } catch (error) {
            setProblem(asProblem(error));
        }
    };
    return (
        <Modal
            open
            width={560}
            title={rule ? t('alert.editRule', { name: rule.name }) : t('alert.newRule')}
            okText={t('action.save')}
            onOk={form.submit}
            onCancel={onClose}
            afterOpenChange={first.afterOpenChange}
        >
            {problem && <ProblemAlert problem={problem} />}
            <Form<Answers>
                form={form}
                layout="vertical"
                onFinish={save}
                initialValues={
                    rule ? shownRule(rule) : { operator: '>', duration: '5m', severity: 'warning' }
                }
            >
                <Form.Item
                    name="name"
                    label={t('alert.ruleName')}
                    rules={[
                        ...required,
                        {
                            // Saving is putting: it would take the place of the other one without a word.
                            validator: async (_, typed: string | undefined) => {
                                const taken = rules.data?.items.some(({ name }) => name === typed?.trim());
                                if (!rule && taken) throw new Error(t('alert.nameTaken'));
                            },
                        },
                    ]}
                >
                    <Input disabled={!!rule} ref={rule ? undefined : first.field} />
                </Form.Item>
                <Form.Item name="description" label={t('alert.description')}>
                    <Input ref={rule ? first.field : undefined} />
                </Form.Item>
                <Form.Item
                    name="metric"
                    label={t('alert.metric')}
                    rules={required}
                    extra={metric && metricText(metric, t, chosen?.help)}
                >
                    <Select showSearch options={metrics.data?.items.map(({ name }) => ({ value: name }))} />
                </Form.Item>
                <div className="form-three">
                    <Form.Item name="operator" label={t('alert.operator')} rules={required}>
                        <Select options={operators.map((value) => ({ value }))} />
                    </Form.Item>
                    <Form.Item
                        name="threshold"
                        label={t('alert.threshold')}
                        rules={[
                            ...required,
                            ...(ratio
                                ? [{ type: 'number' as const, min: 0, max: 100, message: t('alert.percent') }]
                                : []),
                        ]}
                    >
                        <InputNumber
                            style={{ width: '100%' }}
                            addonAfter={ratio ? '%' : isSeconds(metric ?? '') ? 's' : undefined}
                        />
                    </Form.Item>
                    <Form.Item name="duration" label={t('alert.duration')} rules={required}>
                        <Input placeholder="5m" />
                    </Form.Item>
                </div>
                <div className="form-pair">
                    <Form.Item name="severity" label={t('alert.severity')}>
                        <Select
                            options={severities.map((value) => ({ value, label: t(`severity.${value}`) }))}
                        />
                    </Form.Item>
                    <Form.Item name="channels" label={t('alert.channels')}>
                        <Select
                            mode="multiple"
                            placeholder={t('alert.everyChannel')}
                            options={channels.data?.items.map(({ name }) => ({ value: name }))}
                        />
                    </Form.Item>
                </div>
            </Form>
        </Modal>
    );
}
