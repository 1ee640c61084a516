// Which namespace the pages are of, and the way to another. Where there is one alone there is nothing to choose.
import { AppstoreOutlined } from '@ant-design/icons';
import { Select } from 'antd';
import { api } from '../api/client';
import { firstPageOf, space } from '../api/space';
import { useData } from '../hooks/useData';
import { useI18n } from '../i18n';
import './NamespaceSwitch.css';

export function NamespaceSwitch() {
    const { t } = useI18n();
    const spaces = useData((signal) => api.namespaces(signal), [], { everyMs: 30_000 });
    const names = spaces.data?.items.map(({ name }) => name) ?? [];
    // A token for one namespace means that one where none is named.
    const current = space || (names.includes('default') ? 'default' : names[0]);
    if (!current || (names.length < 2 && current === 'default')) return null;
    const offered = names.includes(current) ? names : [current, ...names];
    return (
        <Select
            className="space-switch"
            variant="filled"
            value={current}
            aria-label={t('space.switch')}
            prefix={<AppstoreOutlined />}
            popupMatchSelectWidth={240}
            showSearch
            options={offered.map((value) => ({ value, label: value }))}
            onChange={(name: string) => location.assign(firstPageOf(name))}
        />
    );
}
