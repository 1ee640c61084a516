import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { BrowserRouter } from 'react-router-dom';
import { pagesBegin } from './api/space';
import { Console } from './Console';
import { setUnits } from './format';
import { firstLanguage, PreferencesProvider } from './hooks/usePreferences';
import { loadLanguage } from './i18n';
import { reloadIfFilesAreGone } from './reload';
import './style.css';

reloadIfFilesAreGone();

const root = document.getElementById('root');

function show() {
    if (!root) return;
    createRoot(root).render(
        <StrictMode>
            <PreferencesProvider>
                <BrowserRouter
                    basename={pagesBegin}
                    future={{ v7_startTransition: true, v7_relativeSplatPath: true }}
                >
                    <Console />
                </BrowserRouter>
            </PreferencesProvider>
        </StrictMode>,
    );
}

// In English, where the other texts cannot be fetched.
setUnits(firstLanguage());
void loadLanguage(firstLanguage()).then(show, show);
