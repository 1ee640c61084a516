// Search by keyboard: pages, tasks by name, workers, and anything by its id.
import {
    CalendarOutlined,
    DesktopOutlined,
    NumberOutlined,
    PlusOutlined,
    SearchOutlined,
} from '@ant-design/icons';
import { Input, Modal } from 'antd';
import { type KeyboardEvent, type ReactNode, useDeferredValue, useId, useMemo, useState } from 'react';
import { useNavigate } from 'react-router-dom';
import { api } from '../api/client';
import { useData } from '../hooks/useData';
import { useI18n } from '../i18n';
import { pageLinks } from './pages';

interface Find {
    key: string;
    icon: ReactNode;
    text: string;
    detail: string;
    to: string;
}

// As many of a kind as fit on a screen.
const findsMax = 6;

// What ids look like: see the API's description of a task.
const idPattern = /^[A-Za-z0-9][A-Za-z0-9._~-]{3,63}$/;

function useFinds(typed: string): Find[] {
    const { t } = useI18n();
    const text = useDeferredValue(typed.trim());
    const tasks = useData(
        (signal) => api.tasks({ name: text || undefined, limit: findsMax }, signal),
        [text],
    );
    const workers = useData((signal) => api.workers(signal), []);
    return useMemo(() => {
        const has = (candidate: string) => candidate.toLowerCase().includes(text.toLowerCase());
        const finds: Find[] = pageLinks
            .filter((page) => has(t(page.text)))
            .map((page) => ({
                key: page.path,
                icon: page.icon,
                text: t(page.text),
                detail: t('search.page'),
                to: page.path,
            }));
        if (has(t('task.new'))) {
            finds.push({
                key: 'new',
                icon: <PlusOutlined />,
                text: t('task.new'),
                detail: t('search.action'),
                to: '/tasks?new=1',
            });
        }
        for (const task of tasks.data?.items ?? []) {
            finds.push({
                key: `t${task.id}`,
                icon: <CalendarOutlined />,
                text: task.name,
                detail: t('search.task'),
                to: `/tasks/${encodeURIComponent(task.id)}`,
            });
        }
        for (const worker of (workers.data?.items ?? [])
            .filter((each) => has(each.name) || has(each.id))
            .slice(0, findsMax)) {
            finds.push({
                key: `w${worker.id}`,
                icon: <DesktopOutlined />,
                text: worker.name,
                detail: t('search.worker'),
                to: `/workers?id=${encodeURIComponent(worker.id)}`,
            });
        }
        if (idPattern.test(text)) {
            finds.push({
                key: 'id',
                icon: <NumberOutlined />,
                text,
                detail: t('search.execution'),
                to: `/executions/${encodeURIComponent(text)}`,
            });
        }
        // With a text, what was found by it is nearer than the pages.
        return text ? finds : finds.slice(0, pageLinks.length + 1 + findsMax);
    }, [text, t, tasks.data, workers.data]);
}

export function Search({ onClose }: { onClose: () => void }) {
    const { t } = useI18n();
    const navigate = useNavigate();
    const [typed, setTyped] = useState('');
    const [chosen, setChosen] = useState(0);
    const finds = useFinds(typed);
    const current = Math.min(chosen, Math.max(0, finds.length - 1));
    const list = useId();
    const idOf = (index: number) => `${list}${index}`;

    const go = (find: Find | undefined) => {
        if (!find) return;
        navigate(find.to);
        onClose();
    };
    const pressed = (event: KeyboardEvent) => {
        if (event.key === 'ArrowDown') setChosen((current + 1) % Math.max(1, finds.length));
        else if (event.key === 'ArrowUp') setChosen((current + finds.length - 1) % Math.max(1, finds.length));
        else if (event.key === 'Enter') go(finds[current]);
        else return;
        event.preventDefault();
    };

    return (
        <Modal
            open
            footer={null}
            closable={false}
            onCancel={onClose}
            width={560}
            className="search"
            title={null}
        >
            <Input
                autoFocus
                size="large"
                variant="borderless"
                prefix={<SearchOutlined />}
                placeholder={t('search.placeholder')}
                aria-label={t('search.placeholder')}
                role="combobox"
                aria-autocomplete="list"
                aria-expanded={finds.length > 0}
                aria-controls={list}
                aria-activedescendant={finds.length > 0 ? idOf(current) : undefined}
                value={typed}
                onChange={(event) => {
                    setTyped(event.target.value);
                    setChosen(0);
                }}
                onKeyDown={pressed}
            />
            <ul className="finds" role="listbox" id={list} aria-label={t('search.hint')}>
                {finds.map((find, index) => (
                    <li
                        key={find.key}
                        id={idOf(index)}
                        role="option"
                        aria-selected={index === current}
                        className={index === current ? 'find find-current' : 'find'}
                        onMouseEnter={() => setChosen(index)}
                        onClick={() => go(find)}
                    >
                        {find.icon}
                        <span className="find-text">{find.text}</span>
                        <span className="muted small">{find.detail}</span>
                    </li>
                ))}
            </ul>
            {finds.length === 0 && (
                <div className="find muted" role="status">
                    {t('search.nothing')}
                </div>
            )}
        </Modal>
    );
}
