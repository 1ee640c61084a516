// Chooses among namespaces.
import { AppstoreOutlined } from '@ant-design/icons';
import { Select } from 'antd';
import { firstPageOf } from '../api/space';
import { useI18n } from '../i18n';
import './NamespaceSwitch.css';

export default function NamespaceSelect({ current, offered }: { current: string; offered: string[] }) {
    const { t } = useI18n();
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
