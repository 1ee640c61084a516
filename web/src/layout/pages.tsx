// The pages that the menu and the search offer.
import {
    AlertOutlined,
    ApartmentOutlined,
    AppstoreOutlined,
    BarChartOutlined,
    CalendarOutlined,
    ClusterOutlined,
    DashboardOutlined,
    InboxOutlined,
    LockOutlined,
    SettingOutlined,
    UnorderedListOutlined,
} from '@ant-design/icons';
import type { ReactNode } from 'react';
import type { TextKey } from '../i18n';

export interface PageLink {
    path: string;
    text: TextKey;
    icon: ReactNode;
}

export const pageLinks: PageLink[] = [
    { path: '/', text: 'nav.overview', icon: <DashboardOutlined /> },
    { path: '/tasks', text: 'nav.tasks', icon: <CalendarOutlined /> },
    { path: '/executions', text: 'nav.executions', icon: <UnorderedListOutlined /> },
    { path: '/workers', text: 'nav.workers', icon: <ApartmentOutlined /> },
    { path: '/queues', text: 'nav.queues', icon: <InboxOutlined /> },
    { path: '/locks', text: 'nav.locks', icon: <LockOutlined /> },
    { path: '/cluster', text: 'nav.cluster', icon: <ClusterOutlined /> },
    { path: '/namespaces', text: 'nav.namespaces', icon: <AppstoreOutlined /> },
    { path: '/alerts', text: 'nav.alerts', icon: <AlertOutlined /> },
    { path: '/statistics', text: 'nav.statistics', icon: <BarChartOutlined /> },
    { path: '/settings', text: 'nav.settings', icon: <SettingOutlined /> },
];
