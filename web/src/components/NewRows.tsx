// Says that a list has new rows, which the person may want to see: the list does not move by itself.
import { ArrowUpOutlined } from '@ant-design/icons';
import { Button } from 'antd';
import { formatNumber } from '../format';
import { useI18n } from '../i18n';

interface Props {
    count: number;
    more?: boolean;
    onShow: () => void;
}

export function NewRows({ count, more = false, onShow }: Props) {
    const { t, locale } = useI18n();
    return (
        <div className="new-rows" role="status">
            {count > 0 && (
                <Button size="small" icon={<ArrowUpOutlined />} onClick={onShow}>
                    {t('list.new', { count: `${formatNumber(count, locale)}${more ? '+' : ''}` })}
                </Button>
            )}
        </div>
    );
}
