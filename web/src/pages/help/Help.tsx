// The documentation that the program brings along: a list of its pages, and each of them.
import { Card } from 'antd';
import type { HelpPage } from 'virtual:documentation';
import { useEffect, useMemo, useRef } from 'react';
import { Link, useLocation, useParams } from 'react-router-dom';
import { EmptyNote, Loaded } from '../../components/States';
import { PageHeader } from '../../components/PageHeader';
import { useData } from '../../hooks/useData';
import { type Language, useI18n } from '../../i18n';
import './help.css';
import { Markdown } from './Markdown';
import { headingFor, readMarkdown } from './readMarkdown';
import { groups, helpPage, targetOf, textIn } from './helpPages';

const htmlLanguage = (language: Language) => (language === 'zh' ? 'zh-CN' : 'en');

// All pages in the order in which people need them.
function Contents({ current }: { current?: string }) {
    const { language } = useI18n();
    return groups.map(({ title, pages }) => (
        <section key={title.en}>
            <h2>{title[language]}</h2>
            <ul>
                {pages.map((page) => {
                    const text = textIn(page, language);
                    return (
                        <li key={page.path}>
                            <Link
                                to={`/help/${page.path}`}
                                lang={htmlLanguage(text.language)}
                                aria-current={page.path === current ? 'page' : undefined}
                            >
                                {text.title}
                            </Link>
                        </li>
                    );
                })}
            </ul>
        </section>
    ));
}

// Beside a page: the others. The one that is shown is in sight.
function Beside({ current }: { current: string }) {
    const { t } = useI18n();
    const list = useRef<HTMLElement>(null);
    useEffect(() => {
        const link = list.current?.querySelector<HTMLElement>('[aria-current]');
        if (list.current && link) list.current.scrollTop = link.offsetTop - list.current.clientHeight / 3;
    }, [current]);
    return (
        <nav ref={list} className="help-list help-beside wide-only" aria-label={t('nav.help')}>
            <Contents current={current} />
        </nav>
    );
}

interface ArticleProps {
    page: HelpPage;
    language: Language;
    text: string;
    other?: string; // The same in another language.
}

function Article({ page, language, text, other }: ArticleProps) {
    const { t } = useI18n();
    const { hash } = useLocation();
    const read = useMemo(() => readMarkdown(text), [text]);
    const parts = [...read.headings.values()].filter(({ depth }) => depth === 2);
    useEffect(() => {
        const heading = hash && headingFor(hash.slice(1), read, other);
        if (heading) document.getElementById(heading.id)?.scrollIntoView();
    }, [hash, read, other]);
    return (
        <article lang={htmlLanguage(language)}>
            {parts.length > 2 && (
                <nav className="help-parts" aria-label={t('help.parts')}>
                    {parts.map(({ id, text }) => (
                        <Link key={id} to={`#${encodeURIComponent(id)}`}>
                            {text}
                        </Link>
                    ))}
                </nav>
            )}
            <Markdown of={read} targetOf={(href) => targetOf(href, page.path, language)} />
        </article>
    );
}

function Shown({ page }: { page: HelpPage }) {
    const { t, language } = useI18n();
    const { title, load, language: written } = textIn(page, language);
    const { en, zh } = page.texts;
    const text = useData(async () => {
        const [text, other] = await Promise.all([load(), (written === 'en' ? zh : en)?.load()]);
        return { language: written, text, other };
    }, [page, written]);
    return (
        <>
            <PageHeader
                title={title}
                about={
                    <>
                        <Link to="/help">{t('nav.help')}</Link>
                        {written !== language && ` · ${t('help.onlyEnglish')}`}
                    </>
                }
            />
            <div className="help">
                <Beside current={page.path} />
                <Card className="help-text">
                    <Loaded of={text}>{(read) => <Article page={page} {...read} />}</Loaded>
                </Card>
            </div>
        </>
    );
}

export default function Help() {
    const { t } = useI18n();
    const path = useParams()['*'] ?? '';
    const page = helpPage(path);
    if (page) return <Shown page={page} />;
    return (
        <>
            <PageHeader title={t('nav.help')} about={t('help.about')} />
            <Card>
                {path && <EmptyNote title={t('help.none')} />}
                <div className="help-list help-all">
                    <Contents />
                </div>
            </Card>
        </>
    );
}
