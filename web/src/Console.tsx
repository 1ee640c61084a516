// The console: language, colours, sign-in, and which page is where.
import { App, Button, ConfigProvider, Skeleton } from 'antd';
import enGB from 'antd/locale/en_GB';
import zhCN from 'antd/locale/zh_CN';
import dayjs from 'dayjs';
import 'dayjs/locale/zh-cn';
import { CompassOutlined } from '@ant-design/icons';
import { type ComponentType, lazy, Suspense, useEffect, useSyncExternalStore } from 'react';
import { Link, Route, Routes, useLocation } from 'react-router-dom';
import { token } from './api/token';
import { Boundary } from './components/Boundary';
import { Note } from './components/States';
import { MeProvider } from './hooks/useMe';
import { usePreferences } from './hooks/usePreferences';
import { useScrollKept } from './hooks/useScrollKept';
import { useI18n } from './i18n';
import { Shell } from './layout/Shell';
import { SignIn } from './layout/SignIn';
import { themeOf } from './theme';

type Module = Promise<{ default: ComponentType }>;
const pages: [string, () => Module][] = [
    ['/', () => import('./pages/Overview')],
    ['/tasks', () => import('./pages/tasks/Tasks')],
    ['/editor', () => import('./pages/editor/WorkflowEditor')],
    ['/tasks/:id', () => import('./pages/tasks/TaskDetail')],
    ['/editor/:id', () => import('./pages/editor/WorkflowEditor')],
    ['/executions', () => import('./pages/executions/Executions')],
    ['/executions/:id', () => import('./pages/executions/ExecutionDetail')],
    ['/workers', () => import('./pages/workers/Workers')],
    ['/workers/:id', () => import('./pages/workers/WorkerPage')],
    ['/queues', () => import('./pages/queues/Queues')],
    ['/queues/:name', () => import('./pages/queues/QueuePage')],
    ['/locks', () => import('./pages/Locks')],
    ['/cluster', () => import('./pages/Cluster')],
    ['/namespaces', () => import('./pages/namespaces/Namespaces')],
    ['/audit', () => import('./pages/audit/Audit')],
    ['/alerts', () => import('./pages/alerts/Alerts')],
    ['/statistics', () => import('./pages/Statistics')],
    ['/settings', () => import('./pages/Settings')],
    ['/help/*', () => import('./pages/help/Help')],
];
const routes = pages.map(([path, load]) => ({ path, Content: lazy(load) }));

function NoSuchPage() {
    const { t } = useI18n();
    return (
        <Note
            icon={<CompassOutlined />}
            title={t('error.noPage')}
            action={
                <Link to="/">
                    <Button type="primary">{t('nav.overview')}</Button>
                </Link>
            }
        />
    );
}

function Page() {
    const { pathname } = useLocation();
    useScrollKept();
    // What waits is outside of what breaks: the old page stays until the new one is here.
    return (
        <Suspense fallback={<Skeleton active paragraph={{ rows: 8 }} />}>
            <Boundary key={pathname}>
                <Routes>
                    {routes.map(({ path, Content }) => (
                        <Route key={path} path={path} element={<Content />} />
                    ))}
                    <Route path="*" element={<NoSuchPage />} />
                </Routes>
            </Boundary>
        </Suspense>
    );
}

const still = matchMedia('(prefers-reduced-motion: reduce)').matches;

export function Console() {
    const { dark, language } = usePreferences();
    const refused = useSyncExternalStore(token.watch, token.isRefused);
    useEffect(() => {
        dayjs.locale(language === 'zh' ? 'zh-cn' : 'en');
    }, [language]);
    return (
        <ConfigProvider
            theme={themeOf(dark, still)}
            locale={language === 'zh' ? zhCN : enGB}
            // Spaces between two Chinese letters of a button would change its text.
            button={{ autoInsertSpace: false }}
        >
            <App>
                <Boundary>
                    {refused ? (
                        <SignIn />
                    ) : (
                        <MeProvider>
                            <Shell>
                                <Page />
                            </Shell>
                        </MeProvider>
                    )}
                </Boundary>
            </App>
        </ConfigProvider>
    );
}
