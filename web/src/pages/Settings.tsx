// How workers are chosen, who may come in, and how the console looks.
import { Card, Select } from 'antd';
import { PageHeader } from '../components/PageHeader';
import { type Appearance, usePreferences, type Zone } from '../hooks/usePreferences';
import { useI18n } from '../i18n';
import { StrategyCard } from './settings/StrategyCard';
import { TokensCard } from './settings/TokensCard';

function Preferences() {
    const { t } = useI18n();
    const { language, setLanguage, appearance, setAppearance, zone, setZone } = usePreferences();
    const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const zones: Zone[] = ['mine', 'task', 'utc'];
    const looks: Appearance[] = ['light', 'dark', 'system'];
    return (
        <Card size="small" className="span-6" title={t('settings.preferences')}>
            <div className="setting">
                <span>{t('settings.language')}</span>
                <Select
                    aria-label={t('settings.language')}
                    value={language}
                    onChange={setLanguage}
                    style={{ width: 160 }}
                    options={[
                        { value: 'en', label: 'English' },
                        { value: 'zh', label: '中文' },
                    ]}
                />
            </div>
            <div className="setting">
                <span>{t('look.title')}</span>
                <Select
                    aria-label={t('look.title')}
                    value={appearance}
                    onChange={setAppearance}
                    style={{ width: 160 }}
                    options={looks.map((value) => ({ value, label: t(`look.${value}`) }))}
                />
            </div>
            <div className="setting">
                <span>{t('zone.title')}</span>
                <Select
                    aria-label={t('zone.title')}
                    value={zone}
                    onChange={setZone}
                    style={{ width: 240 }}
                    options={zones.map((value) => ({ value, label: t(`zone.${value}`, { zone: own }) }))}
                />
            </div>
            <p className="muted small">{t('settings.keys')}</p>
        </Card>
    );
}

export default function Settings() {
    const { t } = useI18n();
    return (
        <>
            <PageHeader title={t('nav.settings')} about={t('settings.about')} />
            <div className="grid">
                <StrategyCard />
                <Preferences />
                <TokensCard />
            </div>
        </>
    );
}
