// Asks who somebody is, when the server does: an access token, or a provider that knows them.
import { Button, Card, Checkbox, Form, Input } from 'antd';
import { useEffect, useState } from 'react';
import { Problem, readProblem, unreachable } from '../api/client';
import { live } from '../api/live';
import { token } from '../api/token';
import { ProblemAlert } from '../components/Problems';
import { useI18n } from '../i18n';
import { Controls } from './Controls';

interface Answer {
    token: string;
    stay: boolean;
}

// Where people are sent to who sign in at a provider; nothing if there is none.
function useProvider(): string | undefined {
    const [login, setLogin] = useState<string>();
    useEffect(() => {
        const gone = new AbortController();
        fetch('/auth/methods', { signal: gone.signal })
            .then((response) => response.json())
            .then((methods: { signin: { login: string } | null }) => setLogin(methods.signin?.login))
            // The token can be given all the same; what is wrong shows then.
            .catch(() => undefined);
        return () => gone.abort();
    }, []);
    if (!login) return undefined;
    return `${login}?return_to=${encodeURIComponent(location.pathname + location.search)}`;
}

export function SignIn() {
    const { t } = useI18n();
    const [problem, setProblem] = useState<Problem>();
    const [busy, setBusy] = useState(false);
    const provider = useProvider();

    const signIn = async (answer: Answer) => {
        setBusy(true);
        setProblem(undefined);
        const text = answer.token.trim();
        try {
            // Anything that needs a token shows whether this one is good.
            const response = await fetch('/api/v1/scheduler/status', {
                headers: { Authorization: `Bearer ${text}` },
            });
            if (!response.ok) throw await readProblem(response);
            token.set(text, answer.stay);
            live.start();
        } catch (error) {
            setProblem(error instanceof Problem ? error : unreachable());
        }
        setBusy(false);
    };

    return (
        <div className="sign-in">
            <div className="sign-in-controls">
                <Controls />
            </div>
            <Card className="sign-in-card">
                <img src="/favicon.svg" alt="" width={44} height={44} />
                <h1>{t('signIn.title')}</h1>
                <p className="muted">{t('signIn.about')}</p>
                {provider && (
                    <Button type="primary" href={provider} block className="sign-in-provider">
                        {t('signIn.provider')}
                    </Button>
                )}
                <Form<Answer> layout="vertical" onFinish={signIn} initialValues={{ stay: false }}>
                    {problem && <ProblemAlert problem={problem} />}
                    <Form.Item
                        name="token"
                        label={t('signIn.token')}
                        rules={[{ required: true, whitespace: true, message: t('form.required') }]}
                    >
                        <Input.Password
                            autoFocus
                            placeholder="takt_admin_…"
                            autoComplete="current-password"
                        />
                    </Form.Item>
                    <Form.Item name="stay" valuePropName="checked">
                        <Checkbox>{t('signIn.stay')}</Checkbox>
                    </Form.Item>
                    <Button type={provider ? 'default' : 'primary'} htmlType="submit" block loading={busy}>
                        {t('signIn.enter')}
                    </Button>
                </Form>
                <p className="muted small">{t('signIn.none')}</p>
            </Card>
        </div>
    );
}
