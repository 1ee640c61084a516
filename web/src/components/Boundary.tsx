// Where a part of the page ends that could not be shown, so that the rest of it stays.
import { WarningOutlined } from '@ant-design/icons';
import { Button } from 'antd';
import { Component, type ReactNode, useEffect } from 'react';
import { live } from '../api/live';
import { useI18n } from '../i18n';
import { Note } from './States';

// A part of the page that could not be fetched, in the words of the browsers.
const notFetched = /dynamically imported module|module script failed|preload CSS/i;

function BrokenNote({ why }: { why: string }) {
    const { t } = useI18n();
    // In an outage nothing can be fetched; when it is over the page loads itself.
    useEffect(() => {
        if (!notFetched.test(why) || live.state() !== 'offline') return undefined;
        return live.watchState(() => {
            if (live.state() === 'live') location.reload();
        });
    }, [why]);
    return (
        <Note
            icon={<WarningOutlined />}
            title={t('error.broken')}
            action={
                <Button type="primary" onClick={() => location.reload()}>
                    {t('action.reload')}
                </Button>
            }
        >
            {t('error.brokenText')}
            <div>
                <code>{why}</code>
            </div>
        </Note>
    );
}

interface State {
    why?: string;
}

// Give it a key that changes with what it surrounds: only a new one tries again.
export class Boundary extends Component<{ children: ReactNode }, State> {
    state: State = {};

    static getDerivedStateFromError(error: unknown): State {
        return { why: String(error) };
    }

    render() {
        if (this.state.why === undefined) return this.props.children;
        return <BrokenNote why={this.state.why} />;
    }
}
