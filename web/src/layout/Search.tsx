// Search by keyboard: pages, tasks, workers, executions by name, id, metadata, parameters or error.
import {
    CalendarOutlined,
    DesktopOutlined,
    NumberOutlined,
    PlusOutlined,
    SearchOutlined,
    UnorderedListOutlined,
} from '@ant-design/icons';
import { Input, Modal } from 'antd';
import {
    type KeyboardEvent,
    type ReactNode,
    useDeferredValue,
    useCallback,
    useEffect,
    useId,
    useMemo,
    useState,
} from 'react';
import { useNavigate } from 'react-router-dom';
import { api } from '../api/client';
import { useData } from '../hooks/useData';
import { useFirstField } from '../hooks/useFirstField';
import { useI18n } from '../i18n';
import { isRecurring } from '../pages/tasks/schedule';
import { usePageLinks } from './pages';

interface Find {
    key: string;
    icon: ReactNode;
    text: string;
    detail: string;
    to: string | (() => Promise<string>);
}

// As many of a kind as fit on a screen.
const findsMax = 6;

// What ids look like: see the API's description of a task.
const idPattern = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,63}$/;

const isExact = ({ key }: Find, id: string) => [`t${id}`, `e${id}`, `w${id}`].includes(key);

// Long enough that who types on is not searched for letter by letter.
const restMs = 120;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const taskPath = (id: string) => `/tasks/${encodeURIComponent(id)}`;

// Where the page of an id is: that of a recurring task, else of an execution. A one-off task is its execution.
async function pathOfId(id: string): Promise<string> {
    const task = await api.task(id).catch(() => undefined);
    return task && isRecurring(task) ? taskPath(id) : `/executions/${encodeURIComponent(id)}`;
}

// `settled` once they are of what is typed: until then they are of what was typed before.
function useFinds(typed: string): { finds: Find[]; settled: boolean } {
    const { t } = useI18n();
    const pageLinks = usePageLinks();
    const text = useDeferredValue(typed.trim());
    const tasks = useData(
        async (signal) => {
            if (text) await pause(restMs);
            signal.throwIfAborted();
            const [{ items }, executions] = await Promise.all([
                api.tasks({ search: text || undefined, limit: findsMax }, signal),
                // One letter is in nearly everything, and found without help.
                text.length > 1
                    ? api.executions({ search: text, limit: findsMax }, signal).then((page) => page.items)
                    : [],
            ]);
            return { of: text, items, executions };
        },
        [text],
    );
    const settled = text === typed.trim() && (tasks.data?.of === text || tasks.problem !== undefined);
    const workers = useData((signal) => api.workers(signal), []);
    const finds = useMemo(() => {
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
                to: taskPath(task.id),
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
                to:
                    worker.link === 'push'
                        ? '/workers?tab=executors'
                        : `/workers/${encodeURIComponent(worker.id)}`,
            });
        }
        for (const execution of tasks.data?.executions ?? []) {
            finds.push({
                key: `e${execution.id}`,
                icon: <UnorderedListOutlined />,
                text: execution.task_name,
                detail: `${t(`status.${execution.status}`)} · ${execution.id}`,
                to: `/executions/${encodeURIComponent(execution.id)}`,
            });
        }
        if (text.length > 1) {
            finds.push({
                key: 'all',
                icon: <SearchOutlined />,
                text,
                detail: t('search.allExecutions'),
                to: `/executions?search=${encodeURIComponent(text)}`,
            });
        }
        const known = [...(tasks.data?.items ?? []), ...(tasks.data?.executions ?? [])];
        if (idPattern.test(text) && !known.some(({ id }) => id === text)) {
            finds.push({
                key: 'id',
                icon: <NumberOutlined />,
                text,
                detail: t('search.id'),
                to: () => pathOfId(text),
            });
        }
        // Whoever types a whole id means what has it, whatever else has these letters.
        finds.sort((a, b) => Number(isExact(b, text)) - Number(isExact(a, text)));
        return text ? finds : finds.slice(0, pageLinks.length + 1 + findsMax);
        // eslint-disable-next-line react-hooks/exhaustive-deps
    }, [text, t, tasks.data, workers.data, pageLinks.length]);
    return { finds, settled };
}

export function Search({ onClose }: { onClose: () => void }) {
    const { t } = useI18n();
    const navigate = useNavigate();
    const [typed, setTyped] = useState('');
    const [chosen, setChosen] = useState(0);
    const { finds, settled } = useFinds(typed);
    const [entered, setEntered] = useState(false);
    const current = Math.min(chosen, Math.max(0, finds.length - 1));
    const list = useId();
    const first = useFirstField();
    const idOf = (index: number) => `${list}${index}`;

    const go = useCallback(
        async (find: Find | undefined) => {
            if (!find) return;
            navigate(typeof find.to === 'string' ? find.to : await find.to());
            onClose();
        },
        [navigate, onClose],
    );
    // Who types fast and presses Enter means what is typed, not what was found for the first letters of it.
    useEffect(() => {
        if (!entered || !settled) return;
        setEntered(false);
        void go(finds[current]);
    }, [entered, settled, go, finds, current]);
    const pressed = (event: KeyboardEvent) => {
        if (event.key === 'ArrowDown') setChosen((current + 1) % Math.max(1, finds.length));
        else if (event.key === 'ArrowUp') setChosen((current + finds.length - 1) % Math.max(1, finds.length));
        else if (event.key === 'Enter') setEntered(true);
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
            // At once: who searches by keyboard types on, and what is typed meanwhile would be lost.
            transitionName=""
            maskTransitionName=""
            afterOpenChange={first.afterOpenChange}
        >
            <Input
                ref={first.field}
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
                    setEntered(false);
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
                        onClick={() => void go(find)}
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
