// Creates an alert rule, or changes one.
import { App, Form, Input, InputNumber, Modal } from 'antd';
import { useState } from 'react';
import { api, asProblem, type Problem } from '../../api/client';
import {
    type AlertRule,
    type AlertRuleFields,
    type Operator,
    operators,
    type Severity,
} from '../../api/observe';
import { FormSelect } from '../../components/FormSelect';
import { HelpLink } from '../../components/HelpLink';
import { ProblemAlert } from '../../components/Problems';
import { useData } from '../../hooks/useData';
import { useFirstField } from '../../hooks/useFirstField';
import { useI18n } from '../../i18n';
import { isRatio, isSeconds, metricText } from './alertText';
import { SubjectChoice } from './SubjectChoice';

interface Props {
    rule?: AlertRule; // Absent: a new one.
    onClose: () => void;
    changed: () => void;
}

type Answers = AlertRuleFields & { name: string };

const severities: Severity[] = ['info', 'warning', 'critical'];

// Whether a condition on something that is never below 0, and as a share never above 1, says anything.
function isNonsense(operator: Operator, threshold: number, most?: number): 'never' | 'always' | undefined {
    if ((threshold === 0 && operator === '<') || (threshold === most && operator === '>')) return 'never';
    if ((threshold === 0 && operator === '>=') || (threshold === most && operator === '<=')) return 'always';
    return undefined;
}

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

    const only = { task: t('alert.onlyTask'), queue: t('alert.onlyQueue'), worker: t('alert.onlyWorker') };

    const save = async ({ name, channels: chosenChannels, ...fields }: Answers) => {
        try {
            // Shown as percent, kept as a part of one.
            if (ratio) fields.threshold = Number((fields.threshold / 100).toFixed(6));
            await api.saveAlertRule(rule?.name ?? name.trim(), rule?.version, {
                ...fields,
                subject: chosen?.subject ? (fields.subject ?? '') : '',
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
            {problem && (
                <ProblemAlert
                    problem={problem}
                    headline={
                        problem.status === 412 && rule ? t('alert.changed', { name: rule.name }) : undefined
                    }
                />
            )}
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
                    extra={
                        <>
                            {metric && <code>{metric}</code>} <HelpLink page="alerts" />
                        </>
                    }
                >
                    <FormSelect
                        showSearch
                        filterOption={(typed, option) =>
                            `${option?.value} ${option?.label}`.toLowerCase().includes(typed.toLowerCase())
                        }
                        options={metrics.data?.items.map(({ name, help }) => ({
                            value: name,
                            label: metricText(name, t, help),
                        }))}
                    />
                </Form.Item>
                {chosen?.subject && (
                    <Form.Item name="subject" label={only[chosen.subject]} key={chosen.subject}>
                        <SubjectChoice kind={chosen.subject} />
                    </Form.Item>
                )}
                <div className="form-three">
                    <Form.Item name="operator" label={t('alert.operator')} rules={required}>
                        <FormSelect
                            options={operators.map((value) => ({ value, label: t(`operator.${value}`) }))}
                        />
                    </Form.Item>
                    <Form.Item
                        name="threshold"
                        label={t('alert.threshold')}
                        dependencies={['operator', 'metric']}
                        rules={[
                            ...required,
                            ratio
                                ? { type: 'number', min: 0, max: 100, message: t('alert.percent') }
                                : { type: 'number', min: 0, message: t('alert.thresholdLeast') },
                            ({ getFieldValue }) => ({
                                validator: async (_, threshold: number) => {
                                    const operator = getFieldValue('operator') as Operator;
                                    const wrong = isNonsense(operator, threshold, ratio ? 100 : undefined);
                                    if (wrong === 'never') throw new Error(t('alert.thresholdNever'));
                                    if (wrong === 'always') throw new Error(t('alert.thresholdAlways'));
                                },
                            }),
                        ]}
                    >
                        <InputNumber
                            min={0}
                            max={ratio ? 100 : undefined}
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
                        <FormSelect
                            options={severities.map((value) => ({ value, label: t(`severity.${value}`) }))}
                        />
                    </Form.Item>
                    <Form.Item name="channels" label={t('alert.channels')}>
                        <FormSelect
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
