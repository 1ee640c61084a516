// Language, time zone and appearance.
import { BulbOutlined, GlobalOutlined, MoonOutlined, SunOutlined } from '@ant-design/icons';
import { Button, Dropdown, Tooltip } from 'antd';
import { type Appearance, usePreferences, type Zone } from '../hooks/usePreferences';
import { useI18n } from '../i18n';

const zones: Zone[] = ['mine', 'task', 'utc'];
const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

export function Controls() {
    const { t } = useI18n();
    const { language, setLanguage, appearance, setAppearance, dark, zone, setZone } = usePreferences();
    return (
        <>
            <Tooltip title={language === 'en' ? '切换到中文' : 'Switch to English'}>
                <Button
                    type="text"
                    className="language"
                    aria-label={language === 'en' ? '切换到中文' : 'Switch to English'}
                    onClick={() => setLanguage(language === 'en' ? 'zh' : 'en')}
                >
                    {language === 'en' ? '中文' : 'EN'}
                </Button>
            </Tooltip>
            <Dropdown
                trigger={['click']}
                menu={{
                    selectable: true,
                    selectedKeys: [zone],
                    onClick: ({ key }) => setZone(key as Zone),
                    items: zones.map((key) => ({ key, label: t(`zone.${key}`, { zone: ownZone }) })),
                }}
            >
                <Button type="text" className="zone" aria-label={t('zone.title')} icon={<GlobalOutlined />}>
                    {zone === 'utc' && 'UTC'}
                </Button>
            </Dropdown>
            <Dropdown
                trigger={['click']}
                menu={{
                    selectable: true,
                    selectedKeys: [appearance],
                    onClick: ({ key }) => setAppearance(key as Appearance),
                    items: [
                        { key: 'light', icon: <SunOutlined />, label: t('look.light') },
                        { key: 'dark', icon: <MoonOutlined />, label: t('look.dark') },
                        { key: 'system', icon: <BulbOutlined />, label: t('look.system') },
                    ],
                }}
            >
                <Button
                    type="text"
                    aria-label={t('look.title')}
                    icon={dark ? <MoonOutlined /> : <SunOutlined />}
                />
            </Dropdown>
        </>
    );
}
