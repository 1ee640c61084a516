// Makes a namespace, or changes what one may use.
import { App, Form, Input, InputNumber, Modal } from 'antd';
import { useState } from 'react';
import { api, asProblem, type Problem } from '../../api/client';
import type { Namespace } from '../../api/types';
import { ProblemAlert } from '../../components/Problems';
import { useFirstField } from '../../hooks/useFirstField';
import { useI18n } from '../../i18n';
import { problemLines } from '../../i18n/said';
import { countQuotas, type QuotaAnswers, quotaAnswers, quotaFields } from './quotas';

interface Answers extends QuotaAnswers {
    name: string;
}

interface Props {
    of?: Namespace; // Absent: a new one.
    onClose: () => void;
    changed: () => void;
}

export function NamespaceForm({ of, onClose, changed }: Props) {
    const { t } = useI18n();
    const { message } = App.useApp();
    const [form] = Form.useForm<Answers>();
    const [problem, setProblem] = useState<Problem>();
    const [busy, setBusy] = useState(false);
    const first = useFirstField();
    const save = async ({ name, ...answers }: Answers) => {
        setBusy(true);
        setProblem(undefined);
        const quotas = quotaFields(answers);
        try {
            if (of) await api.changeNamespace(of.name, { quotas });
            else await api.createNamespace(name.trim(), { quotas });
            void message.success(t(of ? 'space.changed' : 'space.created', { name: of?.name ?? name }));
            changed();
            onClose();
        } catch (error) {
            const found = asProblem(error);
            const field = found.field.replace(/^quotas\./, '') as keyof Answers;
            if (form.getFieldInstance(field))
                form.setFields([{ name: field, errors: problemLines(found, t) }]);
            else setProblem(found);
            setBusy(false);
        }
    };
    return (
        <Modal
            open
            title={of ? t('space.quotasOf', { name: of.name }) : t('space.new')}
            okText={of ? t('action.save') : t('action.create')}
            confirmLoading={busy}
            afterOpenChange={first.afterOpenChange}
            onOk={form.submit}
            onCancel={onClose}
        >
            {problem && <ProblemAlert problem={problem} />}
            <Form<Answers>
                form={form}
                layout="vertical"
                onFinish={save}
                initialValues={of ? quotaAnswers(of) : undefined}
            >
                {!of && (
                    <Form.Item
                        name="name"
                        label={t('space.name')}
                        extra={t('space.nameHelp')}
                        rules={[{ required: true, whitespace: true, message: t('form.required') }]}
                    >
                        <Input ref={first.field} placeholder="billing" maxLength={63} autoComplete="off" />
                    </Form.Item>
                )}
                <p className="muted small">{t('space.quotasHelp')}</p>
                <div className="form-pair">
                    {countQuotas.map((name) => (
                        <Form.Item key={name} name={name} label={t(`quota.${name}`)}>
                            <InputNumber
                                min={0}
                                precision={0}
                                placeholder={t('quota.none')}
                                style={{ width: '100%' }}
                            />
                        </Form.Item>
                    ))}
                    <Form.Item name="retention" label={t('quota.retention')}>
                        <Input placeholder={t('quota.none')} />
                    </Form.Item>
                </div>
            </Form>
        </Modal>
    );
}
