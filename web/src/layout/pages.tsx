// The pages that the menu and the search offer.
import {
    AlertOutlined,
    ApartmentOutlined,
    AppstoreOutlined,
    AuditOutlined,
    BarChartOutlined,
    CalendarOutlined,
    ClusterOutlined,
    DashboardOutlined,
    InboxOutlined,
    LockOutlined,
    ReadOutlined,
    SettingOutlined,
    UnorderedListOutlined,
} from '@ant-design/icons';
import type { ReactNode } from 'react';
import { type Need, useMay, useMe } from '../hooks/useMe';
import type { TextKey } from '../i18n';

export interface PageLink {
    path: string;
    text: TextKey;
    icon: ReactNode;
    need?: Need; // Those who may see it; everybody unless given.
    everywhere?: boolean; // For those alone who may see all namespaces.
}

const pageLinks: PageLink[] = [
    { path: '/', text: 'nav.overview', icon: <DashboardOutlined /> },
    { path: '/tasks', text: 'nav.tasks', icon: <CalendarOutlined /> },
    { path: '/executions', text: 'nav.executions', icon: <UnorderedListOutlined /> },
    { path: '/workers', text: 'nav.workers', icon: <ApartmentOutlined /> },
    { path: '/queues', text: 'nav.queues', icon: <InboxOutlined /> },
    { path: '/locks', text: 'nav.locks', icon: <LockOutlined /> },
    { path: '/cluster', text: 'nav.cluster', icon: <ClusterOutlined /> },
    { path: '/namespaces', text: 'nav.namespaces', icon: <AppstoreOutlined />, everywhere: true },
    { path: '/alerts', text: 'nav.alerts', icon: <AlertOutlined /> },
    { path: '/statistics', text: 'nav.statistics', icon: <BarChartOutlined /> },
    { path: '/audit', text: 'nav.audit', icon: <AuditOutlined />, need: 'admin' },
    { path: '/settings', text: 'nav.settings', icon: <SettingOutlined /> },
    { path: '/help', text: 'nav.help', icon: <ReadOutlined /> },
];

// The pages that the person who is signed in may see.
export function usePageLinks(): PageLink[] {
    const may = useMay();
    const me = useMe();
    return pageLinks.filter(
        ({ need, everywhere }) => (!need || may(need)) && (!everywhere || !me || me.namespace === '*'),
    );
}
