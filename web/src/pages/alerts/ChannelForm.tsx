// Creates a channel, or changes one. What is secret of it is never shown: an empty field leaves it as it is.
import { App, Button, Checkbox, Form, Input, Modal, Radio, Select } from 'antd';
import { useState } from 'react';
import { api, asProblem, type Problem } from '../../api/client';
import type { AlertChannel, AlertChannelPut } from '../../api/observe';
import { ProblemAlert } from '../../components/Problems';
import { useFirstField } from '../../hooks/useFirstField';
import { useI18n } from '../../i18n';

interface Props {
    channel?: AlertChannel; // Absent: a new one.
    taken: string[]; // The names that others have.
    onClose: () => void;
    changed: () => void;
    test: (name: string) => Promise<void>;
}

interface Answers {
    name: string;
    kind: 'webhook' | 'email';
    template?: AlertChannelPut['template'];
    url?: string;
    secret?: string;
    unsign?: boolean;
    user?: string;
    password?: string;
    from?: string;
    to?: string[];
    require_tls?: boolean;
}

const templates = ['json', 'slack', 'dingtalk', 'feishu'] as const;

// Only the fields of its kind, and of the secret ones only those that were typed.
function fieldsOf(answers: Answers): AlertChannelPut {
    const url = answers.url?.trim() ? { url: answers.url.trim() } : {};
    if (answers.kind === 'email') {
        return {
            kind: 'email',
            ...url,
            user: answers.user?.trim() ?? '',
            ...(answers.password ? { password: answers.password } : {}),
            from: answers.from?.trim() ?? '',
            to: answers.to ?? [],
            require_tls: answers.require_tls ?? true,
        };
    }
    const secret = answers.unsign ? { secret: '' } : answers.secret ? { secret: answers.secret } : {};
    return { kind: 'webhook', template: answers.template ?? 'json', ...url, ...secret };
}

function WebhookFields({ channel }: { channel?: AlertChannel }) {
    const { t } = useI18n();
    const unsign = Form.useWatch('unsign') as boolean | undefined;
    const required = [{ required: !channel, message: t('form.required') }];
    return (
        <>
            <Form.Item name="template" label={t('channel.template')}>
                <Select
                    options={templates.map((value) => ({ value, label: t(`channel.template.${value}`) }))}
                />
            </Form.Item>
            <Form.Item name="url" label="URL" rules={required} extra={t('channel.urlHelp')}>
                <Input
                    placeholder={channel ? `${channel.target} · ${t('channel.kept')}` : 'https://…'}
                    autoComplete="off"
                />
            </Form.Item>
            <Form.Item name="secret" label={t('channel.secret')} extra={t('channel.secretHelp')}>
                <Input.Password
                    autoComplete="new-password"
                    disabled={unsign}
                    placeholder={channel?.signed ? t('channel.kept') : undefined}
                />
            </Form.Item>
            {channel?.signed && (
                <Form.Item name="unsign" valuePropName="checked">
                    <Checkbox>{t('channel.unsign')}</Checkbox>
                </Form.Item>
            )}
        </>
    );
}

function MailFields({ channel }: { channel?: AlertChannel }) {
    const { t } = useI18n();
    const required = [{ required: true, message: t('form.required') }];
    return (
        <>
            <Form.Item name="url" label={t('channel.mailUrl')} rules={channel ? [] : required}>
                <Input
                    placeholder={channel ? t('channel.kept') : 'smtp://mail.example.com:587'}
                    autoComplete="off"
                />
            </Form.Item>
            <div className="form-pair">
                <Form.Item name="user" label={t('channel.user')}>
                    <Input autoComplete="off" />
                </Form.Item>
                <Form.Item name="password" label={t('channel.password')}>
                    <Input.Password
                        autoComplete="new-password"
                        placeholder={channel?.user ? t('channel.kept') : undefined}
                    />
                </Form.Item>
            </div>
            <Form.Item name="from" label={t('channel.from')} rules={required}>
                <Input placeholder="takt@example.com" />
            </Form.Item>
            <Form.Item name="to" label={t('channel.to')} rules={required} extra={t('channel.toHelp')}>
                <Select mode="tags" open={false} suffixIcon={null} tokenSeparators={[',', ';', ' ']} />
            </Form.Item>
            <Form.Item name="require_tls" valuePropName="checked">
                <Checkbox>{t('channel.requireTls')}</Checkbox>
            </Form.Item>
        </>
    );
}

export function ChannelForm({ channel, taken, onClose, changed, test }: Props) {
    const { t } = useI18n();
    const { message } = App.useApp();
    const [form] = Form.useForm<Answers>();
    const [problem, setProblem] = useState<Problem>();
    const [testing, setTesting] = useState(false);
    const kind = Form.useWatch('kind', form);
    const first = useFirstField();

    const save = async (answers: Answers) => {
        const name = channel?.name ?? answers.name.trim();
        try {
            await api.saveChannel(name, channel?.version, fieldsOf(answers));
            void message.success(t('channel.saved', { name }));
            changed();
            onClose();
            if (testing) await test(name);
        } catch (error) {
            setProblem(asProblem(error));
        }
    };
    const submit = (andTest: boolean) => {
        setTesting(andTest);
        form.submit();
    };
    const changedByOther = problem?.status === 412 && channel;
    return (
        <Modal
            open
            width={560}
            title={channel ? t('channel.edit', { name: channel.name }) : t('channel.new')}
            onCancel={onClose}
            afterOpenChange={first.afterOpenChange}
            footer={[
                <Button key="test" onClick={() => submit(true)}>
                    {t('channel.saveAndTest')}
                </Button>,
                <Button key="save" type="primary" onClick={() => submit(false)}>
                    {t('action.save')}
                </Button>,
            ]}
        >
            {problem && (
                <ProblemAlert
                    problem={problem}
                    headline={changedByOther ? t('alert.changed', { name: channel.name }) : undefined}
                />
            )}
            <Form<Answers>
                form={form}
                layout="vertical"
                onFinish={save}
                initialValues={channel ?? { kind: 'webhook', template: 'json', require_tls: true }}
            >
                <Form.Item
                    name="name"
                    label={t('alert.ruleName')}
                    rules={[
                        { required: true, message: t('form.required') },
                        {
                            validator: async (_, typed: string | undefined) => {
                                if (!channel && taken.includes(typed?.trim() ?? ''))
                                    throw new Error(t('channel.nameTaken'));
                            },
                        },
                    ]}
                >
                    <Input
                        disabled={!!channel}
                        ref={channel ? undefined : first.field}
                        placeholder="ops"
                        onPressEnter={() => submit(false)}
                    />
                </Form.Item>
                <Form.Item name="kind" label={t('alert.kind')}>
                    <Radio.Group
                        disabled={!!channel}
                        optionType="button"
                        options={[
                            { value: 'webhook', label: t('channel.webhook') },
                            { value: 'email', label: t('channel.email') },
                        ]}
                    />
                </Form.Item>
                {kind === 'email' ? <MailFields channel={channel} /> : <WebhookFields channel={channel} />}
            </Form>
        </Modal>
    );
}
