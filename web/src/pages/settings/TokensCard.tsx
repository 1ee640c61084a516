// Access tokens: who may come in, and as what.
import { PlusOutlined } from '@ant-design/icons';
import {
    Alert,
    Button,
    Card,
    Form,
    Input,
    Modal,
    Select,
    Table,
    type TableProps,
    Tag,
    Typography,
} from 'antd';
import { useState } from 'react';
import { api, asProblem, type Problem } from '../../api/client';
import { token as own } from '../../api/token';
import type { Token } from '../../api/types';
import { ProblemAlert } from '../../components/Problems';
import { EmptyNote, Loaded } from '../../components/States';
import { Ago } from '../../components/Time';
import { useAct } from '../../hooks/useAct';
import { useData } from '../../hooks/useData';
import { useFirstField } from '../../hooks/useFirstField';
import { useI18n } from '../../i18n';

const roles = ['viewer', 'operator', 'admin', 'worker', 'executor'] as const;

interface Answers {
    name: string;
    role: string;
    expires_in?: string;
}

function CreateDialog({
    first,
    onClose,
    changed,
}: {
    first: boolean;
    onClose: () => void;
    changed: () => void;
}) {
    const { t } = useI18n();
    const [form] = Form.useForm<Answers>();
    const [made, setMade] = useState<Token>();
    const [problem, setProblem] = useState<Problem>();
    const { field, afterOpenChange } = useFirstField();
    const create = async (answers: Answers) => {
        try {
            const expires_in = answers.expires_in?.trim() || undefined;
            await own.whileChanging(async () => {
                const answer = await api.createToken({
                    name: answers.name.trim(),
                    role: answers.role,
                    expires_in,
                });
                // From the first token on every call needs one: without it this page would lock itself out.
                if (first && answer.token) own.set(answer.token, false);
                setMade(answer);
            });
            changed();
        } catch (error) {
            setProblem(asProblem(error));
        }
    };
    if (made) {
        return (
            <Modal
                open
                title={t('token.made', { name: made.name })}
                onCancel={onClose}
                footer={
                    <Button type="primary" onClick={onClose}>
                        {t('token.kept')}
                    </Button>
                }
            >
                <Alert type="warning" showIcon message={t('token.once')} style={{ marginBottom: 12 }} />
                <Typography.Paragraph copyable className="token-text" data-testid="token">
                    {made.token}
                </Typography.Paragraph>
                {first && <p className="muted">{t('token.signedIn')}</p>}
            </Modal>
        );
    }
    return (
        <Modal
            open
            title={t('token.new')}
            okText={t('action.create')}
            onOk={form.submit}
            onCancel={onClose}
            afterOpenChange={afterOpenChange}
        >
            {first && <Alert type="info" showIcon message={t('token.first')} style={{ marginBottom: 12 }} />}
            {problem && <ProblemAlert problem={problem} />}
            <Form<Answers>
                form={form}
                layout="vertical"
                onFinish={create}
                initialValues={{ role: first ? 'admin' : 'viewer' }}
            >
                <Form.Item
                    name="name"
                    label={t('token.name')}
                    rules={[{ required: true, whitespace: true, message: t('form.required') }]}
                >
                    <Input ref={field} placeholder={t('token.nameExample')} />
                </Form.Item>
                <Form.Item name="role" label={t('token.role')}>
                    <Select
                        disabled={first}
                        options={roles.map((value) => ({ value, label: `${value}: ${t(`token.${value}`)}` }))}
                    />
                </Form.Item>
                <Form.Item name="expires_in" label={t('token.expiresIn')} extra={t('token.expiresHelp')}>
                    <Input placeholder="90d" />
                </Form.Item>
            </Form>
        </Modal>
    );
}

export function TokensCard() {
    const { t } = useI18n();
    const { act, confirm } = useAct();
    const tokens = useData((signal) => api.tokens(signal), []);
    const [creating, setCreating] = useState(false);
    const [first, setFirst] = useState(false);
    const revoke = (each: Token) =>
        confirm(
            {
                title: t('token.revokeTitle', { name: each.name }),
                what: t('token.revokeWhat'),
                ok: t('token.revoke'),
            },
            async () => {
                if (await act(t('token.revoked', { name: each.name }), () => api.revokeToken(each.id)))
                    tokens.reload();
            },
        );
    const columns: TableProps<Token>['columns'] = [
        { title: t('token.name'), render: (_, each) => <span className="cell-main">{each.name}</span> },
        { title: t('token.role'), render: (_, each) => <Tag>{each.role}</Tag> },
        {
            title: t('execution.created'),
            render: (_, each) => <Ago at={each.created_at} />,
            responsive: ['sm'],
        },
        { title: t('token.used'), render: (_, each) => <Ago at={each.last_used_at} />, responsive: ['md'] },
        {
            title: t('token.expires'),
            render: (_, each) => (each.expires_at ? <Ago at={each.expires_at} /> : t('token.never')),
            responsive: ['md'],
        },
        {
            align: 'right',
            render: (_, each) => (
                <Button size="small" danger onClick={() => revoke(each)}>
                    {t('token.revoke')}
                </Button>
            ),
        },
    ];
    const create = (
        <Button
            size="small"
            type="primary"
            icon={<PlusOutlined />}
            onClick={() => {
                setFirst(tokens.data?.items.length === 0);
                setCreating(true);
            }}
        >
            {t('token.new')}
        </Button>
    );
    return (
        <Card
            size="small"
            className="span-12 card-table"
            title={t('token.tokens')}
            extra={tokens.data && create}
        >
            <Loaded of={tokens}>
                {({ items }) => (
                    <Table
                        size="small"
                        rowKey="id"
                        columns={columns}
                        dataSource={items}
                        pagination={false}
                        locale={{
                            emptyText: <EmptyNote title={t('token.none')} text={t('token.noneText')} />,
                        }}
                    />
                )}
            </Loaded>
            {creating && (
                <CreateDialog first={first} onClose={() => setCreating(false)} changed={tokens.reload} />
            )}
        </Card>
    );
}
