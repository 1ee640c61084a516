// The frame around every page: menu, search, who leads, language and appearance.
import { ApiOutlined, LogoutOutlined, MenuOutlined, SearchOutlined } from '@ant-design/icons';
import { Alert, Badge, Button, Drawer, Grid, Layout, Menu, Tag, Tooltip } from 'antd';
import { type ReactNode, useEffect, useState, useSyncExternalStore } from 'react';
import { Link, useLocation } from 'react-router-dom';
import { api } from '../api/client';
import { live } from '../api/live';
import { space } from '../api/space';
import { token } from '../api/token';
import { useMe } from '../hooks/useMe';
import { formatTime } from '../format';
import { useData } from '../hooks/useData';
import { useFiring } from '../hooks/useFiring';
import { useI18n } from '../i18n';
import { Controls } from './Controls';
import { LiveMark } from './LiveMark';
import { NamespaceSwitch } from './NamespaceSwitch';
import { usePageLinks } from './pages';
import { Search } from './Search';
import { WhoAmI } from './WhoAmI';

function Leader() {
    const { t } = useI18n();
    // Each namespace has its own leader; the status tells that of `default`.
    const status = useData(
        async (signal) => {
            const { leader, role } = await api.status(signal);
            if (!space || space === 'default') return { leader, role, epoch: leader?.epoch };
            return { leader: (await api.namespace(space, signal)).leader, role, epoch: undefined };
        },
        [],
        { topics: ['leader'], everyMs: 5_000 },
    );
    if (!status.data) return null;
    const { leader, role, epoch } = status.data;
    if (!leader) {
        return (
            <Tag color="error" data-leader="">
                {t('cluster.noLeader')}
            </Tag>
        );
    }
    return (
        <Tooltip
            title={
                epoch === undefined
                    ? leader.address
                    : t('cluster.leaderTip', { role: t(`role.${role}`), epoch })
            }
        >
            <Link to="/cluster" className="leader wide-only" data-leader={leader.node_id}>
                {t('cluster.leader')}: <b>{leader.node_id}</b>
            </Link>
        </Tooltip>
    );
}

// Once for all of the page: what stands on it is what was known last. Events are the leader's: without one
// the scheduler that serves this page may well answer.
function Outage() {
    const { t, locale } = useI18n();
    const state = useSyncExternalStore(live.watchState, live.state);
    const [since, setSince] = useState<number>();
    useEffect(() => setSince(state === 'offline' ? Date.now() : undefined), [state]);
    const status = useData((signal) => api.status(signal), [], { everyMs: 2_000, paused: !since });
    if (!since) return null;
    const answers = !status.problem && status.data && status.data.role !== 'leader';
    return (
        <Alert
            banner
            type="error"
            data-testid="outage"
            message={t(answers ? 'live.leaderAway' : 'live.outage', { at: formatTime(since, locale) })}
        />
    );
}

function Navigation({ firing, onChoose }: { firing: number; onChoose?: () => void }) {
    const { t } = useI18n();
    const { pathname: path } = useLocation();
    // The editor is of tasks.
    const pathname = path.replace(/^\/editor(?=\/|$)/, '/tasks');
    const pageLinks = usePageLinks();
    const current = pageLinks
        .filter(({ path }) => pathname === path || pathname.startsWith(`${path}/`))
        .pop();
    return (
        <>
            <Link to="/" className="brand" onClick={onChoose}>
                <img src="/favicon.svg" alt="" width={28} height={28} />
                <span>Takt</span>
            </Link>
            <nav aria-label={t('nav.title')}>
                <Menu
                    mode="inline"
                    selectedKeys={current ? [current.path] : []}
                    onClick={onChoose}
                    items={pageLinks.map(({ path, text, icon }) => ({
                        key: path,
                        icon,
                        label: (
                            <Link to={path}>
                                {t(text)}
                                {path === '/alerts' && <Badge count={firing} size="small" offset={[8, 0]} />}
                            </Link>
                        ),
                    }))}
                />
            </nav>
            <a className="api-link" href="/docs" target="_blank" rel="noreferrer">
                <ApiOutlined /> {t('nav.api')}
            </a>
        </>
    );
}

// Ctrl-K anywhere, "/" outside of fields.
function useSearchKeys(open: () => void) {
    useEffect(() => {
        const pressed = (event: KeyboardEvent) => {
            const target = event.target as HTMLElement;
            const typing = target.matches('input, textarea, select, [contenteditable="true"]');
            const wanted =
                (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) ||
                (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey && !event.altKey);
            if (!wanted) return;
            event.preventDefault();
            open();
        };
        window.addEventListener('keydown', pressed);
        return () => window.removeEventListener('keydown', pressed);
    }, [open]);
}

// Of a token, and of whoever signed in at a provider.
async function signOut(): Promise<void> {
    token.forget();
    await fetch('/auth/logout', { method: 'POST' }).catch(() => undefined);
    location.assign('/');
}

export function Shell({ children }: { children: ReactNode }) {
    const me = useMe();
    const { t } = useI18n();
    const wide = Grid.useBreakpoint().lg ?? window.innerWidth >= 992;
    const firing = useFiring().length;
    const [menuOpen, setMenuOpen] = useState(false);
    const [searching, setSearching] = useState(false);
    useSearchKeys(() => setSearching(true));
    return (
        <Layout className="shell">
            {wide ? (
                <Layout.Sider width={208} className="sider">
                    <Navigation firing={firing} />
                </Layout.Sider>
            ) : (
                <Drawer
                    open={menuOpen}
                    onClose={() => setMenuOpen(false)}
                    placement="left"
                    width={240}
                    closable={false}
                    className="menu-drawer"
                >
                    <Navigation firing={firing} onChoose={() => setMenuOpen(false)} />
                </Drawer>
            )}
            <Layout>
                <Layout.Header className="header">
                    {!wide && (
                        <Badge dot={firing > 0} offset={[-7, 7]}>
                            <Button
                                type="text"
                                icon={<MenuOutlined />}
                                aria-label={
                                    firing > 0
                                        ? `${t('nav.title')} · ${t('alert.firingNow', { count: firing })}`
                                        : t('nav.title')
                                }
                                onClick={() => setMenuOpen(true)}
                            />
                        </Badge>
                    )}
                    <button type="button" className="search-button" onClick={() => setSearching(true)}>
                        <SearchOutlined /> <span className="search-hint">{t('search.hint')}</span>
                        <kbd className="wide-only">Ctrl K</kbd>
                    </button>
                    <NamespaceSwitch />
                    <div className="header-end">
                        <Leader />
                        <LiveMark />
                        <WhoAmI />
                        <Controls />
                        {(token.get() || me?.access_control) && (
                            <Tooltip title={t('signIn.leave')}>
                                <Button
                                    type="text"
                                    icon={<LogoutOutlined />}
                                    aria-label={t('signIn.leave')}
                                    onClick={signOut}
                                />
                            </Tooltip>
                        )}
                    </div>
                </Layout.Header>
                <Outage />
                <Layout.Content className="content">
                    <div className="page">{children}</div>
                </Layout.Content>
            </Layout>
            {searching && <Search onClose={() => setSearching(false)} />}
        </Layout>
    );
}
